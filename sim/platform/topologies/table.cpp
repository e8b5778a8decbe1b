#include "platform/topologies/families.h"

namespace shardsim {

const std::vector<TopologyFamily>& topology_families() {
  static const std::vector<TopologyFamily> table = {
      rail_optimised_family(),
      fat_tree_family(),
      single_node_family(),
  };
  return table;
}

}  // namespace shardsim
