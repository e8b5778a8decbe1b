// Lanes that nothing contends: their flows take a fixed time once all members have arrived.
//
// A lane is private when no other lane uses its rows (those that survive simplification) and its
// own flows cannot overlap each other, that is, all of them stand on one stream of some member.
// Lanes without rows are private as well. Linear in the folded job.
#pragma once

#include <cstdint>
#include <vector>

#include "fold/folded.h"

namespace shardsim {

struct LanePace {
  bool is_private = false;
  double pace_Bps = 0;  // of one flow with all rows to itself; infinite without rows
};

[[nodiscard]] std::vector<LanePace> lane_paces(const Folded& folded);

}  // namespace shardsim
