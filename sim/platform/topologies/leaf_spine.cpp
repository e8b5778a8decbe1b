#include "platform/topologies/leaf_spine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "platform/topologies/nvswitch_node.h"

namespace shardsim {

namespace {

[[nodiscard]] std::int32_t to_count(std::int64_t value) { return static_cast<std::int32_t>(value); }
[[nodiscard]] std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

[[nodiscard]] std::int64_t groups_of(const ClusterSpec& cluster, std::int64_t nodes) {
  return ceil_div(nodes, cluster.fabric.nodes_per_leaf);
}

// Leaf groups that the spines of two tiers join.
[[nodiscard]] std::int64_t most_groups(const ClusterSpec& cluster, std::int64_t leaves_per_group) {
  return std::max<std::int64_t>(1, cluster.fabric.tiers[1].radix / leaves_per_group);
}

// Whether `groups` leaf groups need a tier above the spines.
[[nodiscard]] bool needs_core(const ClusterSpec& cluster, std::int64_t groups,
                              std::int64_t leaves_per_group) {
  return cluster.fabric.tiers.size() > 1 && groups > most_groups(cluster, leaves_per_group);
}

[[nodiscard]] std::int64_t groups_per_pod(const ClusterSpec& cluster,
                                          std::int64_t leaves_per_group) {
  const TierSpec& spine = cluster.fabric.tiers[1];
  const double down =
      static_cast<double>(spine.radix) * spine.oversubscription / (1.0 + spine.oversubscription);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(down) / leaves_per_group);
}

// Ports that a leaf switch needs for `nodes` nodes, and for the spines when there are any.
struct LeafPorts {
  std::int64_t per_node = 1;
  std::int64_t down = 0;
  std::int64_t up = 0;
};

[[nodiscard]] LeafPorts leaf_ports(const ClusterSpec& cluster, std::int64_t leaves_per_group,
                                   std::int64_t nodes) {
  const std::vector<TierSpec>& tiers = cluster.fabric.tiers;
  LeafPorts ports;
  ports.per_node = std::max<std::int64_t>(1, cluster.node.nics / leaves_per_group);
  ports.down = nodes * ports.per_node;
  if (tiers.size() > 1) {
    ports.up = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(ports.down) / tiers.front().oversubscription));
  }
  return ports;
}

// Most nodes whose NICs and uplinks fit one leaf switch.
[[nodiscard]] std::int64_t most_nodes_per_leaf(const ClusterSpec& cluster,
                                               std::int64_t leaves_per_group) {
  std::int64_t nodes = 0;
  for (;; ++nodes) {  // a switch has at most 100,000 ports
    const LeafPorts ports = leaf_ports(cluster, leaves_per_group, nodes + 1);
    if (ports.down + ports.up > cluster.fabric.tiers.front().radix) {
      return nodes;
    }
  }
}

void check_leaf(const RunSpec& run, std::int64_t leaves_per_group, std::vector<Problem>& problems) {
  const FabricSpec& fabric = run.cluster.fabric;
  const LeafPorts ports = leaf_ports(run.cluster, leaves_per_group, fabric.nodes_per_leaf);
  const std::int64_t radix = fabric.tiers.front().radix;
  if (ports.down + ports.up <= radix) {
    return;
  }
  const std::int64_t most = most_nodes_per_leaf(run.cluster, leaves_per_group);
  problems.push_back(
      {run.file, "/cluster/fabric/nodes_per_leaf",
       fmt::format("{}{} and {} on a leaf switch of {} ports",
                   counted(fabric.nodes_per_leaf, "node"),
                   ports.per_node > 1 ? fmt::format(" of {} NICs", ports.per_node) : "",
                   counted(ports.up, "uplink"), radix),
       most > 0 ? fmt::format("use at most {}, more ports or more oversubscription", most)
                : "use more ports or more oversubscription"});
}

void check_tiers(const RunSpec& run, std::int64_t leaves_per_group,
                 std::vector<Problem>& problems) {
  const FabricSpec& fabric = run.cluster.fabric;
  const std::int64_t groups = groups_of(run.cluster, run.nodes);
  if (fabric.tiers.size() == 1 && groups > 1) {
    problems.push_back({run.file, "/cluster/fabric/tiers",
                        fmt::format("one tier joins {}, the run occupies {}",
                                    counted(fabric.nodes_per_leaf, "node"), run.nodes),
                        "add a second tier, or use fewer GPUs"});
  }
  if (fabric.tiers.size() == 2 && needs_core(run.cluster, groups, leaves_per_group)) {
    problems.push_back(
        {run.file, "/cluster/fabric/tiers",
         fmt::format(
             "two tiers of {}-port spines join {}, the run occupies {}", fabric.tiers[1].radix,
             counted(most_groups(run.cluster, leaves_per_group) * fabric.nodes_per_leaf, "node"),
             run.nodes),
         "add a third tier, or use fewer GPUs"});
  }
}

}  // namespace

LeafSpine leaf_spine_of(const Fabric& fabric, std::int64_t leaves_per_group) {
  LeafSpine layout;
  layout.leaves_per_group = to_count(leaves_per_group);
  layout.nodes_per_group = to_count(fabric.cluster.fabric.nodes_per_leaf);
  layout.groups = to_count(groups_of(fabric.cluster, fabric.nodes));
  layout.groups_per_pod = needs_core(fabric.cluster, layout.groups, leaves_per_group)
                              ? to_count(groups_per_pod(fabric.cluster, leaves_per_group))
                              : layout.groups;
  layout.pods = to_count(ceil_div(layout.groups, layout.groups_per_pod));
  layout.first_leaf = to_count(fabric.nodes) * fabric.links_per_node;
  layout.first_pod = layout.first_leaf + 2 * layout.groups * layout.leaves_per_group;
  return layout;
}

void check_leaf_spine(const RunSpec& run, std::int64_t leaves_per_group,
                      std::vector<Problem>& problems) {
  const std::size_t tiers = run.cluster.fabric.tiers.size();
  check_nics(run, problems);
  if (tiers < 1 || tiers > 3) {
    problems.push_back({run.file, "/cluster/fabric/tiers",
                        fmt::format("a {} fabric of {} of switches", run.cluster.fabric.family,
                                    counted(static_cast<std::int64_t>(tiers), "tier")),
                        "use 1, 2 or 3"});
    return;
  }
  check_leaf(run, leaves_per_group, problems);
  check_tiers(run, leaves_per_group, problems);
}

void build_leaf_spine(Fabric& fabric, std::int64_t leaves_per_group) {
  const ClusterSpec& cluster = fabric.cluster;
  fabric.links_per_node = nvswitch_links_per_node(cluster.node);
  const LeafSpine layout = leaf_spine_of(fabric, leaves_per_group);
  const auto below_pods = static_cast<std::size_t>(layout.first_pod);
  const std::size_t all =
      below_pods + (layout.pods > 1 ? 2 * static_cast<std::size_t>(layout.pods) : 0);
  fabric.links.reserve(all);
  for (std::int64_t node = 0; node < fabric.nodes; ++node) {
    append_nvswitch_node(cluster.node, fabric.links);
  }
  const BytesPerSecond leaf =
      capacity_of(cluster.node.nic) *
      static_cast<double>(layout.nodes_per_group * (cluster.node.nics / leaves_per_group)) /
      cluster.fabric.tiers[0].oversubscription;
  fabric.links.resize(below_pods, {leaf});
  if (all > below_pods) {
    const BytesPerSecond pod = leaf * static_cast<double>(layout.groups_per_pod) *
                               static_cast<double>(layout.leaves_per_group) /
                               cluster.fabric.tiers[1].oversubscription;
    fabric.links.resize(all, {pod});
  }
}

std::string leaf_spine_link_name(const Fabric& fabric, const LeafSpine& layout, LinkId link) {
  if (link < layout.first_leaf) {
    return nvswitch_link_name(fabric, link);
  }
  const bool is_leaf = link < layout.first_pod;
  const LinkId index = link - (is_leaf ? layout.first_leaf : layout.first_pod);
  return fmt::format("{}{}.{}", is_leaf ? "leaf" : "pod", index / 2,
                     index % 2 == 0 ? "up" : "down");
}

void mark_redundant_bundles(Fabric& fabric, const LeafSpine& layout) {
  constexpr double kRounding = 1.0 + 1e-12;  // of the sums
  const std::int64_t nics = fabric.cluster.node.nics;
  for (std::int32_t side = 0; side < 2; ++side) {  // up and tx, down and rx
    std::vector<double> leaf_load(static_cast<std::size_t>(layout.first_pod - layout.first_leaf) /
                                  2);
    for (std::int32_t node = 0; node < fabric.nodes; ++node) {
      for (std::int32_t nic = 0; nic < nics; ++nic) {
        const LinkId link = nic_link(fabric, node, nic, static_cast<Direction>(side));
        at(leaf_load, layout.leaf_of(node, nic, nics)) += at(fabric.links, link).capacity.value();
      }
    }
    std::vector<double> pod_load(static_cast<std::size_t>(layout.pods));
    for (std::int32_t leaf = 0; leaf < count(leaf_load); ++leaf) {
      FabricLink& link = at(fabric.links, layout.first_leaf + 2 * leaf + side);
      link.can_bind = link.capacity.value() * kRounding < at(leaf_load, leaf);
      at(pod_load, leaf / layout.leaves_per_group / layout.groups_per_pod) +=
          std::min(link.capacity.value(), at(leaf_load, leaf));
    }
    for (std::int32_t pod = 0; layout.pods > 1 && pod < layout.pods; ++pod) {
      FabricLink& link = at(fabric.links, layout.first_pod + 2 * pod + side);
      link.can_bind = link.capacity.value() * kRounding < at(pod_load, pod);
    }
  }
}

std::int32_t append_switches(const LeafSpine& layout, std::int32_t from_leaf, std::int32_t to_leaf,
                             std::vector<LinkId>& links) {
  if (from_leaf == to_leaf) {
    return 1;
  }
  const std::int32_t leaves_per_pod = layout.groups_per_pod * layout.leaves_per_group;
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

void append_network(const Fabric& fabric, const LeafSpine& layout, const NicEnds& ends,
                    Route& out) {
  const NodeSpec& node = fabric.cluster.node;
  append_nic(fabric, ends.from_node, ends.from_nic, Direction::tx, out.links);
  const std::int32_t switches =
      append_switches(layout, layout.leaf_of(ends.from_node, ends.from_nic, node.nics),
                      layout.leaf_of(ends.to_node, ends.to_nic, node.nics), out.links);
  append_nic(fabric, ends.to_node, ends.to_nic, Direction::rx, out.links);
  out.latency +=
      node.nic.latency + fabric.cluster.fabric.hop_latency * static_cast<double>(switches);
  if (node.pcie) {
    out.latency += node.pcie->latency * 2.0;
  }
}

}  // namespace shardsim
