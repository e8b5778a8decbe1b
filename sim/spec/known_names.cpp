#include "spec/known_names.h"

namespace shardsim {

const std::vector<KnownName>& known_schedules() {
  static const std::vector<KnownName> list{
      {"gpipe", "all forwards, then all backwards"},
      {"1f1b", "one forward, one backward in the steady state (PipeDream-flush)"},
      {"interleaved", "1f1b over vpp chunks per stage (Megatron)"},
      {"zb-h1", "weight gradients fill the bubble, memory as 1f1b"},
      {"zb-h2", "weight gradients fill the bubble, up to twice the memory of 1f1b"},
      {"zb-1p", "searched zero-bubble order within the memory of 1f1b"},
      {"zb-2p", "searched zero-bubble order within twice the memory of 1f1b"},
      {"dualpipe", "micro batches enter from both ends (DeepSeek-V3)"},
  };
  return list;
}

const std::vector<KnownName>& known_fabric_families() {
  static const std::vector<KnownName> list{
      {"single_node", "one node, no network"},
      {"single_switch", "every NIC on one switch"},
      {"rail_optimised", "leaf switches per rail, spines above"},
      {"fat_tree", "two or three tiers, all NICs of a node on one leaf"},
  };
  return list;
}

const std::vector<KnownName>& known_collectives() {
  static const std::vector<KnownName> list{
      {"all_reduce", "every rank gets the sum"},
      {"all_gather", "every rank gets all slices"},
      {"reduce_scatter", "every rank gets its slice of the sum"},
      {"all_to_all", "every rank sends a slice to every other"},
      {"send_recv", "one rank sends to one other"},
      {"broadcast", "one rank sends to all"},
      {"reduce", "one rank gets the sum"},
  };
  return list;
}

const std::vector<KnownName>& known_algorithms() {
  static const std::vector<KnownName> list{
      {"auto", "chosen by size and place"},
      {"ring", "one ring through all ranks"},
      {"tree", "double binary tree"},
      {"nvls", "reduction in the NVLink switch"},
      {"nvls_tree", "reduction in the switch, tree between nodes"},
      {"hierarchical", "inside the node, then per rail between nodes"},
      {"pairwise", "all-to-all, every pair direct"},
  };
  return list;
}

const std::vector<KnownName>& known_protocols() {
  static const std::vector<KnownName> list{
      {"auto", "chosen by size"},
      {"ll", "low latency, half the bandwidth"},
      {"ll128", "low latency over NVLink, 120 of 128 bytes are data"},
      {"simple", "full bandwidth"},
  };
  return list;
}

std::vector<std::string> names(const std::vector<KnownName>& list) {
  std::vector<std::string> result;
  result.reserve(list.size());
  for (const KnownName& known : list) {
    result.push_back(known.name);
  }
  return result;
}

}  // namespace shardsim
