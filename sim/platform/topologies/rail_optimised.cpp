// NVSwitch nodes under a rail-optimised leaf/spine, of two or three tiers (leaf_spine.h).
//
//   tier 1   [leaf g0 r0] [leaf g0 r1] ... [leaf g1 r0] ...    one leaf per rail and group of nodes
//              |  |  |      |  |  |
//            nic r of each node of the group (node<n>.nic<r>.tx/rx), NVSwitch inside the node
//
// NIC r of every node of a group of `nodes_per_leaf` nodes hangs on the group's leaf r, as in
// NVIDIA's DGX SuperPOD reference architectures (rail-aligned: the same rail of a scalable unit is
// one switch away): 8 groups of 8 rails at 64 ports, 256 nodes of 32 a group, in two tiers. GPUs of
// a node with fewer NICs share them, neighbours the same one.
//
// Cross-rail messages: with PXN over NVLink to the GPU of the receiver's rail, then along that rail
// (NCCL's default); without it up to the spine and down to the other rail's leaf.
#include "platform/topologies/families.h"
#include "platform/topologies/leaf_spine.h"
#include "platform/topologies/nvswitch_node.h"

namespace shardsim {

namespace {

void check(const RunSpec& run, std::vector<Problem>& problems) {
  check_leaf_spine(run, std::max<std::int64_t>(1, run.cluster.node.nics), problems);
}

[[nodiscard]] LeafSpine layout_of(const Fabric& fabric) {
  return leaf_spine_of(fabric, fabric.cluster.node.nics);
}

void build(Fabric& fabric) {
  fabric.rails = static_cast<std::int32_t>(fabric.cluster.node.nics);
  build_leaf_spine(fabric, fabric.cluster.node.nics);
}

std::string name_of(const Fabric& fabric, LinkId link) {
  return leaf_spine_link_name(fabric, layout_of(fabric), link);
}

std::int32_t rail_of(const Fabric& fabric, LinkId link) {
  const LeafSpine layout = layout_of(fabric);
  if (link < layout.first_leaf) {
    return nic_of_link(fabric, link);
  }
  return link < layout.first_pod ? ((link - layout.first_leaf) / 2) % layout.leaves_per_group : -1;
}

void mark_redundant(Fabric& fabric) { mark_redundant_bundles(fabric, layout_of(fabric)); }

void find_route(const Fabric& fabric, GpuId from, GpuId to, Route& out) {
  const NodeId from_node = fabric.node_of(from);
  const NodeId to_node = fabric.node_of(to);
  const std::int32_t to_local = fabric.local_of(to);
  const std::int32_t to_rail = nic_of_gpu(fabric.cluster.node, to_local);
  std::int32_t from_local = fabric.local_of(from);
  out.links.clear();
  out.latency = Seconds{0};
  out.crosses_nodes = from_node != to_node;
  const bool other_rail = nic_of_gpu(fabric.cluster.node, from_local) != to_rail;
  if (!out.crosses_nodes || (fabric.cluster.fabric.pxn && other_rail)) {
    append_nvlink(fabric, from_node, from_local, to_local, out);
    from_local = to_local;
  }
  if (out.crosses_nodes) {
    const std::int32_t from_rail = nic_of_gpu(fabric.cluster.node, from_local);
    append_network(fabric, layout_of(fabric), {from_node, from_rail, to_node, to_rail}, out);
  }
}

}  // namespace

TopologyFamily rail_optimised_family() {
  return {"rail_optimised",
          "NVSwitch nodes, one leaf switch per NIC of a node and group of nodes, spines",
          check,
          build,
          find_route,
          name_of,
          rail_of,
          mark_redundant};
}

}  // namespace shardsim
