// NVSwitch nodes under a rail-optimised leaf/spine, of two or three tiers.
//
//   tier 3         [              core                ]        only when two tiers cannot join all
//                    | pod0.up/down       | pod1.up/down
//   tier 2   [      spines of pod 0   ] [ spines of pod 1 ]    all rails of a pod
//              | leaf0.up  | leaf1.up ...                      leaf = group * rails + rail
//   tier 1   [leaf g0 r0] [leaf g0 r1] ... [leaf g1 r0] ...    one leaf per rail and group of nodes
//              |  |  |      |  |  |
//            nic r of each node of the group (node<n>.nic<r>.tx/rx), NVSwitch inside the node
//
// NIC r of every node of a group of `nodes_per_leaf` nodes hangs on the group's leaf r, as in
// NVIDIA's DGX SuperPOD reference architectures (rail-aligned: the same rail of a scalable unit is
// one switch away). Spreading over parallel uplinks is ideal, so the uplinks of a leaf are one
// bundle link, and so are those of a pod's spines. A bundle is built for a full leaf or pod even
// where nodes are missing: capacity below it over the tier's oversubscription.
//
// Two tiers join `radix of the spine` leaves, each leaf having a cable to each spine: 8 groups of 8
// rails at 64 ports, 256 nodes of 32 a group, as the reference architecture does. Beyond that, a
// spine gives radix * o / (1 + o) ports to leaves and the rest to the core, and the pods that this
// makes are joined by a third tier. The core's port count is not a limit (modular switches
// assumed).
//
// Cross-rail messages: with PXN over NVLink to the GPU of the receiver's rail, then along that rail
// (NCCL's default); without it up to the spine and down to the other rail's leaf.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "platform/topologies/families.h"
#include "platform/topologies/nvswitch_node.h"

namespace shardsim {

namespace {

struct Layout {
  std::int32_t rails = 0;
  std::int32_t nodes_per_group = 0;
  std::int32_t groups = 0;
  std::int32_t groups_per_pod = 0;
  std::int32_t pods = 0;  // 1: no third tier
  LinkId first_leaf = 0;
  LinkId first_pod = 0;
};

[[nodiscard]] std::int32_t to_count(std::int64_t value) { return static_cast<std::int32_t>(value); }
[[nodiscard]] std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

[[nodiscard]] std::int64_t groups_of(const ClusterSpec& cluster, std::int64_t nodes) {
  return ceil_div(nodes, cluster.fabric.nodes_per_leaf);
}

// Whether `groups` leaf groups need a tier above the spines.
[[nodiscard]] bool needs_core(const ClusterSpec& cluster, std::int64_t groups) {
  const FabricSpec& fabric = cluster.fabric;
  return groups > 1 && fabric.tiers.size() > 1 &&
         groups > fabric.tiers[1].radix / cluster.node.gpus;
}

[[nodiscard]] std::int64_t groups_per_pod(const ClusterSpec& cluster) {
  const TierSpec& spine = cluster.fabric.tiers[1];
  const double down =
      static_cast<double>(spine.radix) * spine.oversubscription / (1.0 + spine.oversubscription);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(down) / cluster.node.gpus);
}

[[nodiscard]] Layout layout_of(const Fabric& fabric) {
  Layout layout;
  layout.rails = fabric.rails;
  layout.nodes_per_group = to_count(fabric.cluster.fabric.nodes_per_leaf);
  layout.groups = to_count(groups_of(fabric.cluster, fabric.nodes));
  layout.groups_per_pod = needs_core(fabric.cluster, layout.groups)
                              ? to_count(groups_per_pod(fabric.cluster))
                              : layout.groups;
  layout.pods = to_count(ceil_div(layout.groups, layout.groups_per_pod));
  layout.first_leaf = to_count(fabric.nodes) * fabric.links_per_node;
  layout.first_pod = layout.first_leaf + 2 * layout.groups * layout.rails;
  return layout;
}

constexpr std::int64_t kMostPorts = 100000;  // of a switch; assumed beyond any that is built

// ---- what can be wrong ------------------------------------------------------------------------

void check_leaf(const RunSpec& run, std::vector<Problem>& problems) {
  const FabricSpec& fabric = run.cluster.fabric;
  const TierSpec& leaf = fabric.tiers.front();
  const std::int64_t up =
      fabric.tiers.size() == 1
          ? 0
          : static_cast<std::int64_t>(
                std::ceil(static_cast<double>(fabric.nodes_per_leaf) / leaf.oversubscription));
  if (fabric.nodes_per_leaf + up > leaf.radix) {
    problems.push_back({run.file, "/cluster/fabric/nodes_per_leaf",
                        fmt::format("{} nodes and {} uplinks on a leaf switch of {} ports",
                                    fabric.nodes_per_leaf, up, leaf.radix),
                        "use fewer nodes per leaf, more ports or more oversubscription"});
  }
}

void check_tiers(const RunSpec& run, std::vector<Problem>& problems) {
  const FabricSpec& fabric = run.cluster.fabric;
  const std::int64_t groups = groups_of(run.cluster, run.nodes);
  if (fabric.tiers.size() == 1 && groups > 1) {
    problems.push_back({run.file, "/cluster/fabric/tiers",
                        fmt::format("one tier joins {} nodes, the run occupies {}",
                                    fabric.nodes_per_leaf, run.nodes),
                        "add a second tier"});
  }
  if (fabric.tiers.size() == 2 && needs_core(run.cluster, groups)) {
    problems.push_back(
        {run.file, "/cluster/fabric/tiers",
         fmt::format("two tiers of {}-port spines join {} nodes, the run occupies {}",
                     fabric.tiers[1].radix,
                     std::max<std::int64_t>(1, fabric.tiers[1].radix / run.cluster.node.gpus) *
                         fabric.nodes_per_leaf,
                     run.nodes),
         "add a third tier"});
  }
}

void check(const RunSpec& run, std::vector<Problem>& problems) {
  const FabricSpec& fabric = run.cluster.fabric;
  const std::size_t before = problems.size();
  check_nvswitch_node(run, true, problems);
  if (fabric.nodes_per_leaf < 1) {
    problems.push_back({run.file, "/cluster/fabric/nodes_per_leaf",
                        fmt::format("{} nodes per leaf", fabric.nodes_per_leaf),
                        "use a positive number"});
  }
  if (fabric.tiers.empty() || fabric.tiers.size() > 3) {
    problems.push_back({run.file, "/cluster/fabric/tiers",
                        fmt::format("{} tiers of switches", fabric.tiers.size()), "use 1, 2 or 3"});
  }
  for (std::size_t i = 0; i < fabric.tiers.size(); ++i) {
    const TierSpec& tier = fabric.tiers[i];
    if (tier.radix < 2 || tier.radix > kMostPorts || !(tier.oversubscription > 0) ||
        !std::isfinite(tier.oversubscription)) {
      problems.push_back(
          {run.file, fmt::format("/cluster/fabric/tiers/{}", i),
           fmt::format("radix {} and oversubscription {}", tier.radix, tier.oversubscription),
           fmt::format("use 2 to {} ports and a positive oversubscription", kMostPorts)});
    }
  }
  if (fabric.spreading != Spreading::ideal) {
    problems.push_back({run.file, "/cluster/fabric/spreading",
                        "hashed spreading over the spines is not implemented yet", "use ideal"});
  }
  if (problems.size() == before) {
    check_leaf(run, problems);
    check_tiers(run, problems);
  }
}

// ---- links ------------------------------------------------------------------------------------

void build(Fabric& fabric) {
  const ClusterSpec& cluster = fabric.cluster;
  fabric.rails = to_count(cluster.node.gpus);
  fabric.links_per_node = nvswitch_links_per_node(cluster.node);
  const Layout layout = layout_of(fabric);
  const auto below_pods = static_cast<std::size_t>(layout.first_pod);
  const std::size_t all =
      below_pods + (layout.pods > 1 ? 2 * static_cast<std::size_t>(layout.pods) : 0);
  fabric.links.reserve(all);
  for (std::int64_t node = 0; node < fabric.nodes; ++node) {
    append_nvswitch_node(cluster.node, fabric.links);
  }
  const BytesPerSecond leaf = capacity_of(cluster.node.nic) *
                              static_cast<double>(layout.nodes_per_group) /
                              cluster.fabric.tiers[0].oversubscription;
  fabric.links.resize(below_pods, {leaf});
  if (all > below_pods) {
    const BytesPerSecond pod = leaf * static_cast<double>(layout.groups_per_pod) *
                               static_cast<double>(layout.rails) /
                               cluster.fabric.tiers[1].oversubscription;
    fabric.links.resize(all, {pod});
  }
}

std::string name_of(const Fabric& fabric, LinkId link) {
  const Layout layout = layout_of(fabric);
  if (link < layout.first_leaf) {
    return nvswitch_link_name(fabric, link);
  }
  const bool is_leaf = link < layout.first_pod;
  const LinkId index = link - (is_leaf ? layout.first_leaf : layout.first_pod);
  return fmt::format("{}{}.{}", is_leaf ? "leaf" : "pod", index / 2,
                     index % 2 == 0 ? "up" : "down");
}

std::int32_t rail_of(const Fabric& fabric, LinkId link) {
  const Layout layout = layout_of(fabric);
  if (link < layout.first_leaf) {
    return nic_of_link(fabric, link);
  }
  return link < layout.first_pod ? ((link - layout.first_leaf) / 2) % layout.rails : -1;
}

// A bundle cannot bind when all that feeds it (or all that it feeds) has no more capacity: leaves
// against their NICs, pods against their leaves and those leaves' NICs. Tolerance: rounding of the
// sums.
void mark_redundant(Fabric& fabric) {
  const Layout layout = layout_of(fabric);
  constexpr double kRounding = 1.0 + 1e-12;
  for (std::int32_t side = 0; side < 2; ++side) {  // up and tx, down and rx
    std::vector<double> leaf_load(static_cast<std::size_t>(layout.first_pod - layout.first_leaf) /
                                  2);
    for (std::int64_t node = 0; node < fabric.nodes; ++node) {
      for (std::int32_t rail = 0; rail < layout.rails; ++rail) {
        const LinkId nic = nic_link(fabric, to_count(node), rail, static_cast<Direction>(side));
        const std::int64_t group = node / layout.nodes_per_group;
        at(leaf_load, group * layout.rails + rail) += at(fabric.links, nic).capacity.value();
      }
    }
    std::vector<double> pod_load(static_cast<std::size_t>(layout.pods));
    for (std::int32_t leaf = 0; leaf < count(leaf_load); ++leaf) {
      FabricLink& link = at(fabric.links, layout.first_leaf + 2 * leaf + side);
      link.can_bind = link.capacity.value() * kRounding < at(leaf_load, leaf);
      at(pod_load, leaf / layout.rails / layout.groups_per_pod) +=
          std::min(link.capacity.value(), at(leaf_load, leaf));
    }
    for (std::int32_t pod = 0; layout.pods > 1 && pod < layout.pods; ++pod) {
      FabricLink& link = at(fabric.links, layout.first_pod + 2 * pod + side);
      link.can_bind = link.capacity.value() * kRounding < at(pod_load, pod);
    }
  }
}

// ---- routes -----------------------------------------------------------------------------------

// Appends the switches' links between two leaves and returns the number of switches crossed.
std::int32_t append_switches(const Layout& layout, std::int32_t from_leaf, std::int32_t to_leaf,
                             std::vector<LinkId>& links) {
  if (from_leaf == to_leaf) {
    return 1;
  }
  const std::int32_t leaves_per_pod = layout.groups_per_pod * layout.rails;
  const std::int32_t from_pod = from_leaf / leaves_per_pod;
  const std::int32_t to_pod = to_leaf / leaves_per_pod;
  links.push_back(layout.first_leaf + 2 * from_leaf);
  if (from_pod != to_pod) {
    links.push_back(layout.first_pod + 2 * from_pod);
    links.push_back(layout.first_pod + 2 * to_pod + 1);
  }
  links.push_back(layout.first_leaf + 2 * to_leaf + 1);
  return from_pod == to_pod ? 3 : 5;
}

void find_route(const Fabric& fabric, GpuId from, GpuId to, Route& out) {
  const NodeSpec& node = fabric.cluster.node;
  const NodeId from_node = fabric.node_of(from);
  const NodeId to_node = fabric.node_of(to);
  const std::int32_t to_rail = fabric.local_of(to);
  std::int32_t from_rail = fabric.local_of(from);
  out.links.clear();
  out.latency = Seconds{0};
  out.crosses_nodes = from_node != to_node;
  const bool over_nvlink =
      !out.crosses_nodes || (fabric.cluster.fabric.pxn && from_rail != to_rail);
  if (over_nvlink) {
    out.links.push_back(nvlink_link(fabric, from_node, from_rail, Direction::tx));
    out.links.push_back(nvlink_link(fabric, from_node, to_rail, Direction::rx));
    out.latency += node.nvlink.latency;
    from_rail = to_rail;
  }
  if (!out.crosses_nodes) {
    return;
  }
  const Layout layout = layout_of(fabric);
  append_nic(fabric, from_node, from_rail, Direction::tx, out.links);
  const std::int32_t switches =
      append_switches(layout, from_node / layout.nodes_per_group * layout.rails + from_rail,
                      to_node / layout.nodes_per_group * layout.rails + to_rail, out.links);
  append_nic(fabric, to_node, to_rail, Direction::rx, out.links);
  out.latency +=
      node.nic.latency + fabric.cluster.fabric.hop_latency * static_cast<double>(switches);
  if (node.pcie) {
    out.latency += node.pcie->latency * 2.0;
  }
}

}  // namespace

TopologyFamily rail_optimised_family() {
  return {"rail_optimised",
          "NVSwitch nodes, one NIC per GPU, one leaf switch per rail and group of nodes, spines",
          check,
          build,
          find_route,
          name_of,
          rail_of,
          mark_redundant};
}

}  // namespace shardsim
