// Ring: every rank sends to the next; all edges move at the pace of the slowest (NCCL's "Ring").
//
//   r0 -> r1 -> ... -> rn-1 -> r0      S/n bytes a step, n-1 or 2 (n-1) steps, pipelined
#include "lowering/algorithms/list.h"
#include "lowering/ring_links.h"

namespace shardsim {
namespace {

bool applies(Primitive primitive, const GroupShape& shape) {
  return shape.ranks > 1 &&
         (primitive == Primitive::all_reduce || primitive == Primitive::reduce_scatter ||
          primitive == Primitive::all_gather);
}

std::vector<Phase> phases(Primitive primitive, Bytes bytes, const GroupShape& shape,
                          const CollectiveCorrections& corrections) {
  const auto size = static_cast<double>(bytes.value());
  const Seconds ramp =
      shape.nodes == 1 ? node_ramp(size, shape.ranks, corrections) : fabric_ramp(size, corrections);
  return {{.part = Part::ring,
           .amount = ring_fraction(primitive, shape.ranks) * size / ring_channels(shape),
           .steps = ring_steps(primitive, shape.ranks),
           .latency = corrections.base_latency + ramp}};
}

}  // namespace

Algorithm ring_algorithm() {
  return {.name = "ring",
          .help = "every rank sends to the next; as many rings as ranks on a node share its NICs",
          .applies = applies,
          .phases = phases};
}

}  // namespace shardsim
