// NVSwitch nodes under a fat tree of two or three tiers (leaf_spine.h): all NICs of a node hang on
// one leaf switch, the leaf of its group of `nodes_per_leaf` nodes.
//
//   tier 2        [            spines            ]      leaf.up/down: bundles, 1:1 or
//   oversubscribed
//                   |             |
//   tier 1      [ leaf 0 ]    [ leaf 1 ]
//                ||||  ||||    ||||  ||||
//               node0 node1   node2 node3               nic<i> serves the GPUs i * gpus / nics ...
//
// Messages leave through the NIC of their GPU and arrive through that of the receiver's: with all
// NICs of a node one switch away from each other, nothing is gained by moving them over NVLink
// first. GPUs of a node with fewer NICs share them, neighbours the same one.
#include "platform/topologies/families.h"
#include "platform/topologies/leaf_spine.h"
#include "platform/topologies/nvswitch_node.h"

namespace shardsim {

namespace {

[[nodiscard]] LeafSpine layout_of(const Fabric& fabric) { return leaf_spine_of(fabric, 1); }

void check(const RunSpec& run, std::vector<Problem>& problems) {
  check_leaf_spine(run, 1, problems);
}

void build(Fabric& fabric) { build_leaf_spine(fabric, 1); }

std::string name_of(const Fabric& fabric, LinkId link) {
  return leaf_spine_link_name(fabric, layout_of(fabric), link);
}

std::int32_t no_rail(const Fabric&, LinkId) { return -1; }

void mark_redundant(Fabric& fabric) { mark_redundant_bundles(fabric, layout_of(fabric)); }

void find_route(const Fabric& fabric, GpuId from, GpuId to, Route& out) {
  const NodeId from_node = fabric.node_of(from);
  const NodeId to_node = fabric.node_of(to);
  out.links.clear();
  out.latency = Seconds{0};
  out.crosses_nodes = from_node != to_node;
  if (!out.crosses_nodes) {
    append_nvlink(fabric, from_node, fabric.local_of(from), fabric.local_of(to), out);
    return;
  }
  const NodeSpec& node = fabric.cluster.node;
  append_network(fabric, layout_of(fabric),
                 {from_node, nic_of_gpu(node, fabric.local_of(from)), to_node,
                  nic_of_gpu(node, fabric.local_of(to))},
                 out);
}

}  // namespace

TopologyFamily fat_tree_family() {
  return {"fat_tree", "NVSwitch nodes, all NICs of a node on one leaf switch, spines",
          check,      build,
          find_route, name_of,
          no_rail,    mark_redundant};
}

}  // namespace shardsim
