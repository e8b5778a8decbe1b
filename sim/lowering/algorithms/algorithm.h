// Collective algorithms: from (primitive, bytes, shape of the group) to phases.
//
// A phase is one coupled flow on a ring over part of the group. Algorithms see only the shape, so
// that all groups of a shape do the same. One file per algorithm, listed in table.cpp.
//   ring, all_reduce of S over n ranks in one node: {ring, 2 (n-1)/n S, 2 (n-1) steps}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "lowering/groups.h"
#include "sharding/primitive.h"
#include "spec/cluster_spec.h"

namespace shardsim {

// The ranks that one lane of a phase joins.
enum class Part : std::uint8_t {
  ring,       // the whole group
  cycle,      // the whole group, one message from each rank to the next
  node,       // the group's ranks of one node
  rail,       // the i-th rank of each node
  pairs,      // the whole group, each rank to each other
  forwarded,  // the whole group: along each rail to each node, and on to each rank of the node
  scalar,     // the whole group, for messages so small that only latency counts: no links
};
inline constexpr std::size_t kPartCount = 7;

// How often a lane of Part::forwarded loads the links of each route between nodes and in a node.
struct ForwardWeights {
  std::int64_t rail = 1;
  std::int64_t pair = 1;
};
[[nodiscard]] ForwardWeights forward_weights(const GroupShape& shape);

struct Phase {
  Part part = Part::ring;
  double amount = 0;  // bytes per channel
  double steps = 0;   // hops in a row
  Seconds latency{};  // software: base and ramp
};

struct Algorithm {
  std::string name;
  std::string help;
  bool (*applies)(Primitive primitive, const GroupShape& shape);
  std::vector<Phase> (*phases)(Primitive primitive, Bytes bytes, const GroupShape& shape,
                               const CollectiveCorrections& corrections);
};

[[nodiscard]] const std::vector<Algorithm>& collective_algorithms();

// Messages up to this size cost latency only, 2 log2(n) hops for an all_reduce (a tree up and
// down), log2(n) otherwise: the protocol sends them in one line per hop (assumed: NCCL's LL128 line
// is 120 bytes of data, NCCL 2.30 device/prims_ll128.h).
inline constexpr std::int64_t kScalarBytes = 120;
[[nodiscard]] std::vector<Phase> scalar_phases(Primitive primitive, const GroupShape& shape,
                                               const CollectiveCorrections& corrections);

// Part of the buffer that passes each edge of a ring of n, and how many steps that takes:
// all_reduce 2 (n-1)/n and 2 (n-1), reduce_scatter and all_gather half of it (Patarasuk, Yuan
// 2009).
[[nodiscard]] double ring_fraction(Primitive primitive, std::int32_t ranks);
[[nodiscard]] double ring_steps(Primitive primitive, std::int32_t ranks);

// ramp * (S / 1 MiB)^0.4 (spec/cluster_spec.h), zero for S = 0; in a node times min(1, ranks / 8),
// as the fit to published NCCL sweeps has it.
[[nodiscard]] Seconds node_ramp(double bytes, std::int32_t ranks,
                                const CollectiveCorrections& corrections);
[[nodiscard]] Seconds fabric_ramp(double bytes, const CollectiveCorrections& corrections);

}  // namespace shardsim
