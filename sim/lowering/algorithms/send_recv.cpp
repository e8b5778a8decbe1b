// Send/recv: one message over the route from one GPU to another, one hop. In a shift every rank of
// the group sends to the next one at once: all edges in one flow, which ends with the slowest.
#include "lowering/algorithms/list.h"

namespace shardsim {
namespace {

bool applies(Primitive primitive, const GroupShape& /*shape*/) {
  return primitive == Primitive::send || primitive == Primitive::recv ||
         primitive == Primitive::shift;
}

std::vector<Phase> phases(Primitive primitive, Bytes bytes, const GroupShape& /*shape*/,
                          const CollectiveCorrections& corrections) {
  return {{.part = primitive == Primitive::shift ? Part::cycle : Part::ring,
           .amount = static_cast<double>(bytes.value()),
           .steps = 1,
           .latency = corrections.base_latency}};
}

}  // namespace

Algorithm send_recv_algorithm() {
  return {.name = "send_recv",
          .help = "one message over the route between two ranks, or from each rank to the next",
          .applies = applies,
          .phases = phases};
}

}  // namespace shardsim
