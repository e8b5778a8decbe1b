// Leaf switches, spines and, beyond two tiers, a core: what rail-optimised fabrics and fat trees of
// NVSwitch nodes have in common. They differ in how the NICs of a node are spread over leaves:
//
//   rail_optimised  NIC r of each node of a group on the group's leaf r: as many leaves as NICs
//   fat_tree        all NICs of a node on its group's one leaf
//
//   tier 3         [              core                ]        only when two tiers cannot join all
//                    | pod0.up/down       | pod1.up/down
//   tier 2   [      spines of pod 0   ] [ spines of pod 1 ]    all leaves of a pod
//              | leaf0.up  | leaf1.up ...                      leaf = group * leaves_per_group + i
//   tier 1   [ leaf 0 ] [ leaf 1 ] ...                         nodes_per_leaf nodes a group
//
// Spreading over parallel uplinks is ideal, so the uplinks of a leaf are one bundle link, and so
// are those of a pod's spines. A bundle is built for a full leaf or pod even where nodes are
// missing: capacity below it over the tier's oversubscription. Two tiers join `radix of the spine`
// leaves, each leaf having a cable to each spine. Beyond that, a spine gives radix * o / (1 + o)
// ports to leaves and the rest to the core, and the pods that this makes are joined by a third
// tier. The core's port count is not a limit (modular switches assumed).
#pragma once

#include <string>
#include <vector>

#include "platform/fabric.h"

namespace shardsim {

struct LeafSpine {
  std::int32_t leaves_per_group = 1;
  std::int32_t nodes_per_group = 0;
  std::int32_t groups = 0;
  std::int32_t groups_per_pod = 0;
  std::int32_t pods = 0;  // 1: no third tier
  LinkId first_leaf = 0;
  LinkId first_pod = 0;
  [[nodiscard]] std::int32_t leaf_of(NodeId node, std::int32_t nic, std::int64_t nics) const {
    const auto within = static_cast<std::int32_t>(nic * leaves_per_group / nics);
    return node / nodes_per_group * leaves_per_group + within;
  }
};

// Of a fabric whose node links are laid out already.
[[nodiscard]] LeafSpine leaf_spine_of(const Fabric& fabric, std::int64_t leaves_per_group);

// Problems of nodes_per_leaf and tiers; those of the nodes too.
void check_leaf_spine(const RunSpec& run, std::int64_t leaves_per_group,
                      std::vector<Problem>& problems);
void build_leaf_spine(Fabric& fabric, std::int64_t leaves_per_group);
[[nodiscard]] std::string leaf_spine_link_name(const Fabric& fabric, const LeafSpine& layout,
                                               LinkId link);
// A bundle cannot bind when all that feeds it (or all that it feeds) has no more capacity: leaves
// against their NICs, pods against their leaves and those leaves' NICs.
void mark_redundant_bundles(Fabric& fabric, const LeafSpine& layout);

// Appends the switches' links between two leaves and returns the number of switches crossed.
[[nodiscard]] std::int32_t append_switches(const LeafSpine& layout, std::int32_t from_leaf,
                                           std::int32_t to_leaf, std::vector<LinkId>& links);

// Out through one NIC of the sender's node and in through one of the receiver's, with their
// latencies.
struct NicEnds {
  NodeId from_node = 0;
  std::int32_t from_nic = 0;
  NodeId to_node = 0;
  std::int32_t to_nic = 0;
};
void append_network(const Fabric& fabric, const LeafSpine& layout, const NicEnds& ends, Route& out);

}  // namespace shardsim
