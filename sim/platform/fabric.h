// The machine as directed links with capacities, and computed routes between GPUs.
//
// Routes come from coordinates, never from tables: memory is linear in links. A topology family
// (platform/topologies/<family>.cpp) builds the links of a Fabric and answers routes.
//   gpu 3 of node 0 -> gpu 3 of node 40 (other leaf):
//   node0.nic3.tx  leaf3.up  leaf11.down  node40.nic3.rx     (leaf = leaf group * rails + rail)
// Links of node n are [n, n + 1) * links_per_node; links of switches follow those of all nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "base/ids.h"
#include "base/units.h"
#include "spec/run_spec.h"

namespace shardsim {

struct FabricLink {
  BytesPerSecond
      capacity{};        // what a large transfer reaches: bandwidth x efficiency x perturbation
  bool can_bind = true;  // false: its capacity >= the sum of the links whose traffic it carries
};

// A route's links in order and the latency of one message over it (links and switches crossed).
struct Route {
  std::vector<LinkId> links;
  Seconds latency{};
  bool crosses_nodes = false;
};

struct Fabric;

// One topology family: how its links are laid out, found and named.
struct TopologyFamily {
  std::string name;
  std::string help;
  // Adds what is wrong with the run's cluster for this family (pointers of the run file).
  void (*check)(const RunSpec& run, std::vector<Problem>& problems);
  void (*build)(Fabric& fabric);  // fills links, links_per_node, rails; REQUIRES a checked cluster
  void (*route)(const Fabric& fabric, GpuId from, GpuId to, Route& out);  // REQUIRES from != to
  std::string (*link_name)(const Fabric& fabric, LinkId link);
  std::int32_t (*rail_of)(const Fabric& fabric, LinkId link);  // -1: belongs to no rail
  void (*mark_redundant)(Fabric& fabric);  // can_bind from the capacities, perturbations applied
};

[[nodiscard]] const std::vector<TopologyFamily>& topology_families();

struct Fabric {
  const TopologyFamily* family = nullptr;
  ClusterSpec cluster;
  std::int64_t nodes = 0;
  std::int32_t links_per_node = 0;
  std::int32_t rails = 0;  // 0: the family has none
  std::vector<FabricLink> links;
  std::vector<double> gpu_speed;  // per GpuId, perturbations applied

  [[nodiscard]] NodeId node_of(GpuId gpu) const {
    return static_cast<NodeId>(gpu / cluster.node.gpus);
  }
  [[nodiscard]] std::int32_t local_of(GpuId gpu) const {
    return static_cast<std::int32_t>(gpu % cluster.node.gpus);
  }
};

// The fabric of the nodes that a run occupies, its perturbations applied (jitter apart, which is
// not the fabric's). Throws ConfigError with the problems below.
[[nodiscard]] Fabric make_fabric(const RunSpec& run);

// The rules over a run that only families know, for the reader (RunRule in spec/run_rule.h);
// pointers are those of the run file. REQUIRES what the reader itself checks. No such family, more
// NICs than GPUs, switches without enough ports or tiers.
[[nodiscard]] std::vector<Problem> cluster_problems(const RunSpec& run);
// Rails and links that the fabric does not have; nothing when the cluster has problems.
[[nodiscard]] std::vector<Problem> perturbation_problems(const RunSpec& run);

void route(const Fabric& fabric, GpuId from, GpuId to, Route& out);
[[nodiscard]] std::string link_name(const Fabric& fabric, LinkId link);
// The links of that name; of both directions when it states none; empty when there is none.
[[nodiscard]] std::vector<LinkId> find_links(const Fabric& fabric, std::string_view name);
[[nodiscard]] std::string dump_fabric(const Fabric& fabric);  // one line per link
void check_fabric(const Fabric& fabric);                      // InternalError if malformed

// Where the ranks sit: node by node, gpus_used of each node, in rank order.
struct NodeMap {
  std::vector<GpuId> gpu_of_rank;
};
[[nodiscard]] NodeMap make_node_map(const RunSpec& run);

}  // namespace shardsim
