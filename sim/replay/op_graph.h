// One program unrolled over its passes: which operation waits for which, as flat arrays.
//
// LoweredProgram -> OpGraph. All ranks with the program share it; a rank itself keeps only counters
// of the predecessors still to come and its times. An operation waits for the one before it on its
// stream, for its deps, and for the last one before it on each stream that it joins (streams are
// first in, first out, so the last ended means all ended).
#pragma once

#include <cstdint>
#include <vector>

#include "fold/folded.h"

namespace shardsim {

struct OpGraph {
  std::vector<std::int32_t> first_op;         // per pass; size passes + 1
  std::vector<const LoweredOp*> ops;          // per operation, into Folded::templates
  std::vector<std::int32_t> use;              // flows: the how-many-th use of their slot
  std::vector<std::uint16_t> predecessors;    // how many
  std::vector<std::int32_t> first_successor;  // size ops + 1
  std::vector<std::int32_t> successors;
  std::vector<std::int32_t> first_slot_op;  // size slots + 1
  std::vector<std::int32_t> slot_ops;       // operations of each slot in order of use
};

[[nodiscard]] OpGraph make_op_graph(const Folded& folded, const LoweredProgram& program);

}  // namespace shardsim
