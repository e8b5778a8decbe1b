// What would make a run fit: changes of the run file, each tried by the memory walk alone.
//
// Fewest changes first: one of recompute, sp, ZeRO, micro batch, tp, cp, pp; then two of them; then
// three. The first number of changes with which something fits is the answer, in that order. When
// nothing does, the change that comes nearest, and the fewest GPUs that would do with the ranks
// spread anew over tp, pp and dp (ZeRO 1 at least, sp where there is tp).
#pragma once

#include <functional>
#include <vector>

#include "report/memory_report.h"
#include "spec/reader.h"

namespace shardsim {

// The run under further overrides; throws ConfigError when they make no valid run.
using ReadWith = std::function<RunSpec(const Overrides& more)>;

[[nodiscard]] std::vector<MemoryChange> advise(const RunSpec& run, const ReadWith& read);

}  // namespace shardsim
