// Pairwise all-to-all: every rank sends each other rank its slice directly (NCCL: grouped
// ncclSend and ncclRecv).
//
// With buffer S over n ranks each pair moves S/n bytes, (n-1)/n S leave a rank. One flow for all
// pairs: each link is loaded once for every pair whose route crosses it, in the node's switch and
// on the NICs alike, so that the tier that needs longest sets the pace. Across nodes a message goes
// by the rail its route takes (topologies: with PXN by NVLink to the GPU of the receiver's rail).
// Slices to the peers of one node leave together; rounds over the peers in the node and over the
// nodes are assumed to follow each other: r-1 + k-1 hops for r ranks on each of k nodes.
#include "lowering/algorithms/list.h"

namespace shardsim {
namespace {

bool applies(Primitive primitive, const GroupShape& shape) {
  const bool once_per_node = shape.nodes_per_token > 0;  // see forwarded.cpp
  return shape.ranks > 1 && primitive == Primitive::all_to_all && !once_per_node;
}

std::vector<Phase> phases(Primitive /*primitive*/, Bytes bytes, const GroupShape& shape,
                          const CollectiveCorrections& corrections) {
  const auto size = static_cast<double>(bytes.value());
  const Seconds ramp =
      shape.nodes == 1 ? node_ramp(size, shape.ranks, corrections) : fabric_ramp(size, corrections);
  return {{.part = Part::pairs,
           .amount = size / shape.ranks,
           .steps = static_cast<double>(shape.max_per_node - 1 + shape.nodes - 1),
           .latency = corrections.base_latency + ramp}};
}

}  // namespace

Algorithm pairwise_algorithm() {
  return {.name = "pairwise",
          .help = "every rank sends each other rank its slice directly",
          .applies = applies,
          .phases = phases};
}

}  // namespace shardsim
