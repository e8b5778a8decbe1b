// Send/recv: one message over the route from one GPU to another, one hop.
#include "lowering/algorithms/list.h"

namespace shardsim {
namespace {

bool applies(Primitive primitive, const GroupShape& /*shape*/) {
  return primitive == Primitive::send || primitive == Primitive::recv;
}

std::vector<Phase> phases(Primitive /*primitive*/, Bytes bytes, const GroupShape& /*shape*/,
                          const CollectiveCorrections& corrections) {
  return {{.part = Part::ring,
           .amount = static_cast<double>(bytes.value()),
           .steps = 1,
           .latency = corrections.base_latency}};
}

}  // namespace

Algorithm send_recv_algorithm() {
  return {.name = "send_recv",
          .help = "one message over the route between two ranks",
          .applies = applies,
          .phases = phases};
}

}  // namespace shardsim
