// What the groups of a program exchange in one step, as the program states it: one row a group,
// whatever algorithm or phases carry it. Bytes are full buffers, as nccl-tests counts sizes; a
// message between stages counts once, at its sender.
#pragma once

#include <string>
#include <vector>

#include "workload/program.h"

namespace shardsim {

struct GroupTraffic {
  std::string group;  // "tp", "dp", "pp"
  double count = 0;   // collectives of one rank in the step, mean over all ranks
  double bytes = 0;   // their messages together, mean over all ranks
};
[[nodiscard]] std::vector<GroupTraffic> group_traffic(const Program& program);  // by group name

}  // namespace shardsim
