// Static check of a Program, run after it has been built: InternalError naming the program, the
// pass and the operation of the first fault. Holds afterwards:
//   - every index is valid, dependencies point backward, every stage has the ranks of the grid;
//   - the members of a group start equal collectives (primitive, bytes, type) in equal order;
//   - what a stage sends, its neighbour receives: equal count, order and bytes, around the end too;
//   - activation memory returns to nothing;
//   - the step ends: run abstractly, one rank for each kind, nothing waits for ever.
// Cost: linear in the operations that one rank of each kind runs.
#pragma once

#include "sharding/rank_grid.h"
#include "workload/program.h"

namespace shardsim {

void check_program(const Program& program, const RankGrid& grid);

}  // namespace shardsim
