// RunSpec and RankGrid -> Program: operators per layer x schedule x derived communication.
//
// One RankProgram per pipeline stage; stages whose chunks are alike share pass templates. REQUIRES
// what the reader checks, and no schedule_problems. Invariant: the k-th send of each stage boundary
// meets the k-th receive.
//   llama3-8b, pp 1, 2 micro batches: F' B F B' end, where F' gathers parameters beside it and B'
//   reduces gradients
#pragma once

#include "sharding/rank_grid.h"
#include "workload/program.h"

namespace shardsim {

[[nodiscard]] Program build_program(const RunSpec& run, const RankGrid& grid);

}  // namespace shardsim
