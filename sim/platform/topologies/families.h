// The topology families, one function per file of this folder; table.cpp lists them.
#pragma once

#include "platform/fabric.h"

namespace shardsim {

[[nodiscard]] TopologyFamily rail_optimised_family();
[[nodiscard]] TopologyFamily fat_tree_family();
[[nodiscard]] TopologyFamily single_node_family();

}  // namespace shardsim
