// Node, then rail: with r ranks on each of k nodes (r > 1, k > 1) and buffer S,
//
//   reduce_scatter:  S within each node, then S/r along each rail
//   all_gather:      S/r along each rail, then S within each node
//   all_reduce:      reduce_scatter S in the node, all_reduce S/r along the rail, all_gather S
//
// The same bytes cross each NIC as with the ring, in fewer steps: k and r instead of k r.
#include "lowering/algorithms/list.h"

namespace shardsim {
namespace {

bool applies(Primitive primitive, const GroupShape& shape) {
  return shape.nodes > 1 && shape.min_per_node == shape.max_per_node && shape.max_per_node > 1 &&
         (primitive == Primitive::all_reduce || primitive == Primitive::reduce_scatter ||
          primitive == Primitive::all_gather);
}

Phase node_phase(Primitive primitive, double size, const GroupShape& shape,
                 const CollectiveCorrections& corrections) {
  const std::int32_t ranks = shape.max_per_node;
  return {.part = Part::node,
          .amount = ring_fraction(primitive, ranks) * size,
          .steps = ring_steps(primitive, ranks),
          .latency = node_ramp(size, ranks, corrections)};
}

Phase rail_phase(Primitive primitive, double size, const GroupShape& shape,
                 const CollectiveCorrections& corrections) {
  const double share = size / shape.max_per_node;
  return {.part = Part::rail,
          .amount = ring_fraction(primitive, shape.nodes) * share,
          .steps = ring_steps(primitive, shape.nodes),
          .latency = fabric_ramp(share, corrections)};
}

std::vector<Phase> phases(Primitive primitive, Bytes bytes, const GroupShape& shape,
                          const CollectiveCorrections& corrections) {
  const auto size = static_cast<double>(bytes.value());
  std::vector<Phase> result;
  if (primitive != Primitive::all_gather) {
    result.push_back(node_phase(Primitive::reduce_scatter, size, shape, corrections));
  }
  result.push_back(rail_phase(primitive, size, shape, corrections));
  if (primitive != Primitive::reduce_scatter) {
    result.push_back(node_phase(Primitive::all_gather, size, shape, corrections));
  }
  result.front().latency += corrections.base_latency;  // one call of the library
  return result;
}

}  // namespace

Algorithm hierarchical_algorithm() {
  return {.name = "hierarchical",
          .help = "reduce-scatter in the node, then along each rail, then all-gather in the node",
          .applies = applies,
          .phases = phases};
}

}  // namespace shardsim
