#include <algorithm>
#include <bit>
#include <cmath>

#include "base/errors.h"
#include "lowering/algorithms/algorithm.h"
#include "lowering/algorithms/list.h"

namespace shardsim {

const std::vector<Algorithm>& collective_algorithms() {
  static const std::vector<Algorithm> table{
      ring_algorithm(),      hierarchical_algorithm(), pairwise_algorithm(),
      forwarded_algorithm(), send_recv_algorithm(),
  };
  return table;
}

std::vector<Phase> scalar_phases(Primitive primitive, const GroupShape& shape,
                                 const CollectiveCorrections& corrections) {
  const auto depth = primitive == Primitive::shift
                         ? 1
                         : std::bit_width(static_cast<std::uint32_t>(shape.ranks) - 1U);
  const double ways = primitive == Primitive::all_reduce ? 2.0 : 1.0;
  return {{.part = Part::scalar,
           .amount = 0,
           .steps = ways * static_cast<double>(depth),
           .latency = corrections.base_latency}};
}

double ring_fraction(Primitive primitive, std::int32_t ranks) {
  const double once = (ranks - 1.0) / ranks;
  return primitive == Primitive::all_reduce ? 2.0 * once : once;
}

double ring_steps(Primitive primitive, std::int32_t ranks) {
  return primitive == Primitive::all_reduce ? 2.0 * (ranks - 1.0) : ranks - 1.0;
}

namespace {

inline constexpr double kRampExponent = 0.4;
inline constexpr double kMebibyte = 1048576.0;

double growth(double bytes) {
  return bytes <= 0 ? 0.0 : std::pow(bytes / kMebibyte, kRampExponent);
}

}  // namespace

Seconds node_ramp(double bytes, std::int32_t ranks, const CollectiveCorrections& corrections) {
  return corrections.node_ramp * (growth(bytes) * std::min(1.0, ranks / 8.0));
}

Seconds fabric_ramp(double bytes, const CollectiveCorrections& corrections) {
  return corrections.fabric_ramp * growth(bytes);
}

}  // namespace shardsim
