// The machine as directed links with capacities, and computed routes between GPUs.
//
// Routes come from coordinates, never from tables: memory is linear in links. A topology family
// (platform/topologies/<family>.cpp) builds the links of a Fabric and answers routes.
//   gpu 3 of node 0 -> gpu 3 of node 40 (other leaf):
//   node0.nic3.tx  leaf(0,3).up  leaf(1,3).down  node40.nic3.rx
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  void (*build)(Fabric& fabric);  // fills fabric.links from fabric.cluster and fabric.nodes
  void (*route)(const Fabric& fabric, GpuId from, GpuId to, Route& out);  // REQUIRES from != to
  std::string (*link_name)(const Fabric& fabric, LinkId link);
};

[[nodiscard]] const std::vector<TopologyFamily>& topology_families();

struct Fabric {
  const TopologyFamily* family = nullptr;
  ClusterSpec cluster;
  std::int64_t nodes = 0;
  std::vector<FabricLink> links;
  std::vector<double> gpu_speed;  // per GpuId, perturbations applied

  [[nodiscard]] NodeId node_of(GpuId gpu) const {
    return static_cast<NodeId>(gpu / cluster.node.gpus);
  }
  [[nodiscard]] std::int32_t local_of(GpuId gpu) const {
    return static_cast<std::int32_t>(gpu % cluster.node.gpus);
  }
};

// The fabric of the nodes that a run occupies, its perturbations applied.
// Throws ConfigError for link names that do not exist and for families that are not implemented.
[[nodiscard]] Fabric make_fabric(const RunSpec& run);

void route(const Fabric& fabric, GpuId from, GpuId to, Route& out);
[[nodiscard]] std::string link_name(const Fabric& fabric, LinkId link);
[[nodiscard]] std::string dump_fabric(const Fabric& fabric);  // one line per link
void check_fabric(const Fabric& fabric);                      // InternalError if malformed

// Where the ranks sit: node by node, gpus_used of each node, in rank order.
struct NodeMap {
  std::vector<GpuId> gpu_of_rank;
};
[[nodiscard]] NodeMap make_node_map(const RunSpec& run);

}  // namespace shardsim
