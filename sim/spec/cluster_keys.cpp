#include "spec/known_names.h"
#include "spec/tables.h"

namespace shardsim {
namespace {

using Keys = std::vector<Key<ClusterSpec>>;
using C = ClusterSpec;

std::vector<Key<LinkSpec>> link_keys(const Fallback& bandwidth) {
  return {
      {{"bandwidth_per_direction", quantity(Dimension::bandwidth, 1, 1e16), bandwidth,
        "line rate in one direction"},
       [](LinkSpec& l, const Parsed& v) { l.bandwidth_per_direction = BytesPerSecond{v.number}; }},
      {{"efficiency", fraction(), by_default("1.0"), "what large transfers reach of it"},
       [](LinkSpec& l, const Parsed& v) { l.efficiency = v.number; }},
      {{"latency", quantity(Dimension::time, 0, 1), by_default("\"0 us\""),
        "of one hop of a collective over it"},
       [](LinkSpec& l, const Parsed& v) { l.latency = Seconds{v.number}; }}};
}

void add_node(Keys& keys) {
  keys.push_back({{"node", object(), required(), "what is inside one NVLink domain"}, {}});
  keys.push_back({{"node.gpus", integer(1, kMaxNodeGpus), required(), "GPUs of a node"},
                  [](C& c, const Parsed& v) { c.node.gpus = v.integer; }});
  keys.push_back({{"node.gpus_used", integer(1, kMaxNodeGpus), derived("gpus"),
                   "GPUs of a node that jobs use"},
                  [](C& c, const Parsed& v) { c.node.gpus_used = v.integer; }});
  keys.push_back({{"node.nvlink", object(), required(), "links between the GPUs of a node"}, {}});
  keys.push_back(
      {{"node.nvlink.kind", choice({"switch", "pairs", "mesh", "none"}), required(),
        "how the GPUs are joined"},
       [](C& c, const Parsed& v) { c.node.nvlink_kind = static_cast<NvlinkKind>(v.choice); }});
  embed(keys, "node.nvlink.", link_keys(derived("needed unless kind is none")),
        [](C& c) -> LinkSpec& { return c.node.nvlink; });
  keys.push_back({{"node.nvlink.in_switch_reduction", boolean(), by_default("false"),
                   "the switch can sum (NVLink SHARP)"},
                  [](C& c, const Parsed& v) { c.node.in_switch_reduction = v.boolean; }});
  keys.push_back({{"node.pcie", object(), absent(), "the PCIe link behind each NIC"},
                  [](C& c, const Parsed&) { c.node.pcie.emplace(); }});
  embed(keys, "node.pcie.", link_keys(required()), [](C& c) -> LinkSpec& { return *c.node.pcie; });
  keys.push_back({{"node.nics", object(), absent(), "network cards of a node"}, {}});
  keys.push_back({{"node.nics.count", integer(0, kMaxNodeGpus), required(), "NICs of a node"},
                  [](C& c, const Parsed& v) { c.node.nics = v.integer; }});
  embed(keys, "node.nics.", link_keys(derived("needed when there are NICs")),
        [](C& c) -> LinkSpec& { return c.node.nic; });
}

std::vector<Key<TierSpec>> tier_keys() {
  return {{{"radix", integer(2, 100'000), required(), "ports of a switch"},
           [](TierSpec& t, const Parsed& v) { t.radix = v.integer; }},
          {{"oversubscription", number(0.001, 1000), by_default("1.0"),
            "bandwidth down over bandwidth up"},
           [](TierSpec& t, const Parsed& v) { t.oversubscription = v.number; }}};
}

void add_fabric(Keys& keys) {
  keys.push_back({{"fabric", object(), required(), "the network between nodes"}, {}});
  keys.push_back({{"fabric.family", choice(names(known_fabric_families())), required(),
                   "how switches are arranged"},
                  [](C& c, const Parsed& v) { c.fabric.family = v.text; }});
  keys.push_back({{"fabric.nodes_per_leaf", integer(1, kMaxGpus),
                   derived("half the ports of the first tier"), "nodes under one leaf switch"},
                  [](C& c, const Parsed& v) { c.fabric.nodes_per_leaf = v.integer; }});
  keys.push_back({{"fabric.tiers", list_of_objects(infos_of(tier_keys())), absent(),
                   "switch tiers from the leaves up"},
                  [](C& c, const Parsed& v) { c.fabric.tiers = read_list(v, tier_keys()); }});
  keys.push_back(
      {{"fabric.spreading", choice({"ideal", "hash"}), by_default("\"ideal\""),
        "how flows are spread over equal paths"},
       [](C& c, const Parsed& v) { c.fabric.spreading = static_cast<Spreading>(v.choice); }});
  keys.push_back({{"fabric.seed", integer(0, 1'000'000'000), by_default("0"), "of hash spreading"},
                  [](C& c, const Parsed& v) { c.fabric.seed = v.integer; }});
  keys.push_back({{"fabric.pxn", boolean(), by_default("true"),
                   "traffic to another rail goes over NVLink to that rail's NIC"},
                  [](C& c, const Parsed& v) { c.fabric.pxn = v.boolean; }});
  keys.push_back({{"fabric.hop_latency", quantity(Dimension::time, 0, 1), by_default("\"0 us\""),
                   "of each switch crossed"},
                  [](C& c, const Parsed& v) { c.fabric.hop_latency = Seconds{v.number}; }});
}

void add_corrections(Keys& keys) {
  const std::string at = "collectives.corrections";
  const ValueType time = quantity(Dimension::time, 0, 1);
  keys.push_back({{"collectives", object(), by_default("{}"), "how collectives run here"}, {}});
  keys.push_back({{at, object(), by_default("{}"), "costs beyond latency and bandwidth"}, {}});
  keys.push_back({{at + ".base_latency", time, by_default("\"0 us\""), "of starting a collective"},
                  [](C& c, const Parsed& v) { c.corrections.base_latency = Seconds{v.number}; }});
  keys.push_back({{at + ".node_ramp", time, by_default("\"0 us\""),
                   "growth with the message, at 1 MiB inside a node"},
                  [](C& c, const Parsed& v) { c.corrections.node_ramp = Seconds{v.number}; }});
  keys.push_back({{at + ".fabric_ramp", time, by_default("\"0 us\""),
                   "growth with the message, at 1 MiB across nodes"},
                  [](C& c, const Parsed& v) { c.corrections.fabric_ramp = Seconds{v.number}; }});
}

}  // namespace

const std::vector<Key<ClusterSpec>>& cluster_keys() {
  static const Keys table = [] {
    Keys keys;
    keys.push_back({{"name", filled_text(), required(), "shown in reports"},
                    [](C& c, const Parsed& v) { c.name = v.text; }});
    keys.push_back({{"source", filled_text(), required(), "where the figures come from"},
                    [](C& c, const Parsed& v) { c.source = v.text; }});
    keys.push_back({{"gpu", reference(Format::gpu), required(), "the GPU of every node"},
                    [](C& c, const Parsed& v) {
                      c.gpu = read_gpu_value(*v.json, v.prefix + "gpu.", *v.log);
                    }});
    add_node(keys);
    add_fabric(keys);
    add_corrections(keys);
    return keys;
  }();
  return table;
}

ClusterSpec read_cluster_value(const JsonValue& json, const std::string& prefix, ReadLog& log) {
  ClusterSpec cluster;
  read_into(cluster, json, cluster_keys(), prefix, log);
  if (cluster.node.gpus_used == 0) {
    cluster.node.gpus_used = cluster.node.gpus;
  }
  if (cluster.fabric.nodes_per_leaf == 0 && !cluster.fabric.tiers.empty()) {
    cluster.fabric.nodes_per_leaf = cluster.fabric.tiers.front().radix / 2;
  }
  return cluster;
}

}  // namespace shardsim
