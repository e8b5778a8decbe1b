// How much of this computer's memory a replay and its analysis take, counted on the folded job.
//
// The reader's estimate (spec/validate_work.cpp) knows neither how many rank classes folding leaves
// (one per stage of an even machine, every rank with --fold off) nor how many operations coalescing
// leaves; here both are there. Measured with llama3-8b, tp 8, on 64 GPUs, 100 to 3,000 micro
// batches: 24 B for each operation of a rank class, 100 B for each of a program, 72 B for each on
// the critical path, which is as long as a program was before coalescing.
#pragma once

#include "commands/simulate.h"

namespace shardsim {

[[nodiscard]] double replay_bytes(const Folded& folded);

// Throws ConfigError above the limit (base/memory_limit.h), with the largest batch that is below.
void refuse_large_replay(const Folded& folded, const RunSpec& run, const SimulateOptions& options);

}  // namespace shardsim
