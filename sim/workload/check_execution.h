// The meeting of kinds of ranks, for check_program: who meets whom through which slot, in which
// order, and whether the step can end.
#pragma once

#include <string>

#include "sharding/rank_grid.h"
#include "workload/program.h"

namespace shardsim {

// "program 2, pass 5 (F c0, micro batch 3), operation 12 (recv of activations)", for messages.
[[nodiscard]] std::string place_text(const Program& program, std::int32_t rank_program,
                                     std::int32_t pass, std::int32_t op);

// REQUIRES: indices of `program` are valid.
void check_execution(const Program& program, const RankGrid& grid);

}  // namespace shardsim
