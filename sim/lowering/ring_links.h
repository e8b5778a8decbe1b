// Which links a ring over given GPUs loads, how often, and what a hop of it costs.
//
// Inside one node: one channel, GPU after GPU. Over several nodes with up to r ranks on a node: r
// channels; channel j enters and leaves each node through the NIC of the node's member j (modulo
// the members there) and passes all members in between, as NCCL builds its rings, so that all NICs
// share each crossing. The last member hands its data to NIC j over PCIe, which is not modelled.
//   2 nodes x 2 GPUs, channel 0: a0 -> a1 =NIC0=> b0 -> b1 =NIC0=>, channel 1: a1 -> a0 =NIC1=> ...
//   weights: each NIC 1 in each direction, each GPU's NVLink 1 (it is last in one of the 2
//   channels)
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "lowering/groups.h"
#include "lowering/lowered.h"
#include "platform/fabric.h"

namespace shardsim {

struct RouteSum {
  std::vector<LinkUse> uses;  // by rising link, each once
  Seconds hop_latency{};      // mean over the edges
};

// Sums routes; keeps its scratch space between calls. One per fabric.
class RouteSummer {
 public:
  explicit RouteSummer(const Fabric& fabric);

  // `gpus` sorted, at least two.
  void ring(std::span<const GpuId> gpus, RouteSum& out);
  // Each GPU to each other.
  void pairs(std::span<const GpuId> gpus, RouteSum& out);
  // Each GPU to that of its place on each other node, and to each other of its node, so many times.
  // REQUIRES: equally many on each node.
  void forwarded(std::span<const GpuId> gpus, std::int64_t between_nodes, std::int64_t in_node,
                 RouteSum& out);
  // Each GPU to the next, whatever the nodes: one message per edge. The hop is the slowest edge's.
  void cycle(std::span<const GpuId> gpus, RouteSum& out);
  void one_way(GpuId from, GpuId to, RouteSum& out);

 private:
  void node_ring(std::span<const GpuId> gpus);
  void channel(std::span<const GpuId> gpus, std::span<const std::size_t> node_starts,
               std::size_t number);
  void add_edge(GpuId from, GpuId to, std::int64_t times = 1);
  void finish(RouteSum& out);

  const Fabric& fabric_;
  Route route_;
  std::vector<std::int64_t> weight_;  // per link
  std::vector<LinkId> touched_;
  std::vector<std::pair<double, std::int64_t>> latencies_;  // distinct hop latencies, how often
  std::vector<std::size_t> node_starts_;
};

// Channels of a ring over a group of this shape.
[[nodiscard]] std::int32_t ring_channels(const GroupShape& shape);

// The smallest capacity per unit of weight, and the link that has it (-1 = no links, infinite).
struct Pace {
  BytesPerSecond rate{};
  LinkId link = -1;
  std::int64_t weight = 1;
};
[[nodiscard]] Pace pace_of(const Fabric& fabric, const std::vector<LinkUse>& uses);

}  // namespace shardsim
