// Random small clusters, and what may be wrong with them: fabrics, algorithms and link names come
// from the tables of the product, so a new entry is drawn from its first day.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "base/errors.h"
#include "lowering/algorithms/algorithm.h"
#include "lowering/lowering.h"
#include "platform/fabric.h"
#include "support/clusters.h"

namespace shardsim::test {

template <class T>
T pick(const std::vector<T>& values) {
  return *rc::gen::elementOf(values);
}
inline bool coin() { return *rc::gen::arbitrary<bool>(); }
inline double between(int low, int high, double unit) {  // high included
  return *rc::gen::inRange(low, high + 1) * unit;
}

// A node of 1 to 8 GPUs, all of them with a NIC, any bandwidths and latencies.
inline ClusterSpec random_cluster() {
  ClusterSpec cluster = dgx_h100_like();
  const int gpus = pick(std::vector{1, 2, 4, 8});
  cluster.node.gpus = gpus;
  cluster.node.gpus_used = gpus;
  cluster.node.nics = gpus;
  cluster.node.nvlink = {BytesPerSecond{between(50, 900, 1e9)}, 0.8, Seconds{between(0, 9, 1e-7)}};
  cluster.node.nic = {BytesPerSecond{between(10, 100, 1e9)}, 0.9, Seconds{between(0, 90, 1e-7)}};
  cluster.fabric.nodes_per_leaf = pick(std::vector{2, 4, 32});
  cluster.fabric.tiers = {{64, pick(std::vector{1.0, 2.0})}, {64, 1.0}, {64, 1.0}};
  cluster.corrections = {Seconds{between(0, 90, 1e-7)}, Seconds{between(0, 90, 1e-7)},
                         Seconds{between(0, 400, 1e-7)}};
  return cluster;
}

// Any family that can build the run's cluster, which is one node for all ranks now and then; NICs
// shared by neighbours, behind PCIe or not.
inline void vary_fabric(RunSpec& run) {
  NodeSpec& node = run.cluster.node;
  if (*rc::gen::inRange(0, 8) == 0) {
    node.gpus = run.gpus;
    node.gpus_used = run.gpus;
    node.nics = run.gpus;
  }
  node.nics = node.nics % 2 == 0 && coin() ? node.nics / 2 : node.nics;
  if (coin()) {
    node.pcie = LinkSpec{BytesPerSecond{between(10, 60, 1e9)}, 0.8, Seconds{between(0, 9, 1e-7)}};
  }
  run.nodes = (run.gpus + node.gpus_used - 1) / node.gpus_used;
  std::vector<std::string> possible;
  for (const TopologyFamily& family : topology_families()) {
    run.cluster.fabric.family = family.name;
    std::vector<Problem> problems;
    family.check(run, problems);
    if (problems.empty()) {
      possible.push_back(family.name);
    }
  }
  run.cluster.fabric.family = pick(possible);
}

// An algorithm of the table for some primitives; those that a choice does not fit keep `auto`.
inline void vary_algorithms(RunSpec& run) {
  for (const Primitive primitive : {Primitive::all_reduce, Primitive::reduce_scatter,
                                    Primitive::all_gather, Primitive::all_to_all}) {
    std::vector<std::string> possible{"auto"};
    for (const Algorithm& algorithm : collective_algorithms()) {
      RunSpec candidate = run;
      candidate.collectives.clear();
      candidate.collectives[std::string(name(primitive))].algorithm = algorithm.name;
      if (collective_problems(candidate).empty()) {
        possible.push_back(algorithm.name);
      }
    }
    run.collectives[std::string(name(primitive))].algorithm = pick(possible);
  }
}

// Slow GPUs, nodes and rails, and any links of the fabric: NVLink, PCIe, NICs, uplinks of one leaf
// or pod (a spine that is not even).
inline void perturb(RunSpec& run) {
  using Kind = Perturbation::Kind;
  const Fabric fabric = make_fabric(run);
  if (coin()) {
    const auto gpu = *rc::gen::inRange<std::int64_t>(0, run.gpus);
    run.perturbations.push_back({.kind = Kind::gpu, .index = gpu, .link = {}, .factor = 0.8});
  }
  if (*rc::gen::inRange(0, 4) == 0) {
    const auto node = *rc::gen::inRange<std::int64_t>(0, run.nodes);
    run.perturbations.push_back({.kind = Kind::node, .index = node, .link = {}, .factor = 1.1});
  }
  if (fabric.rails > 0 && *rc::gen::inRange(0, 4) == 0) {
    const std::int64_t rail = *rc::gen::inRange(0, fabric.rails);
    run.perturbations.push_back({.kind = Kind::rail, .index = rail, .link = {}, .factor = 0.7});
  }
  for (int links = *rc::gen::inRange(0, 3); links > 0; --links) {
    const LinkId link = *rc::gen::inRange(0, count(fabric.links));
    run.perturbations.push_back(
        {.kind = Kind::link, .link = link_name(fabric, link), .factor = 0.5});
  }
}

}  // namespace shardsim::test
