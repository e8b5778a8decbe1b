#include "lowering/choose.h"

#include <limits>

#include "base/errors.h"

namespace shardsim {
namespace {

// Members of lane `lane` of a part. REQUIRES for node and rail: equally many on each node.
std::vector<GpuId> lane_members(const std::vector<GpuId>& gpus, const GroupShape& shape, Part part,
                                std::size_t lane) {
  const auto per_node = static_cast<std::size_t>(shape.max_per_node);
  if (part == Part::node) {
    const auto first = gpus.begin() + static_cast<std::ptrdiff_t>(lane * per_node);
    return {first, first + shape.max_per_node};
  }
  if (part == Part::rail) {
    std::vector<GpuId> rail;
    for (std::size_t i = lane; i < gpus.size(); i += per_node) {
      rail.push_back(gpus[i]);
    }
    return rail;
  }
  return gpus;
}

std::size_t lanes_of(const GroupShape& shape, Part part) {
  switch (part) {
    case Part::node:
      return static_cast<std::size_t>(shape.nodes);
    case Part::rail:
      return static_cast<std::size_t>(shape.max_per_node);
    case Part::ring:
    case Part::cycle:
    case Part::pairs:
    case Part::forwarded:
    case Part::scalar:
      return 1;
  }
  SHARDSIM_CHECK(false, "unknown part of a group");
}

std::string chosen_name(Primitive primitive, const RunSpec& run) {
  const auto choice = run.collectives.find(std::string(name(primitive)));
  return choice == run.collectives.end() ? "auto" : choice->second.algorithm;
}

Seconds total_time(const std::vector<Phase>& phases, const FiguresOf& figures) {
  Seconds total{};
  for (const Phase& phase : phases) {
    total += phase_time(phase, figures(phase.part));
  }
  return total;
}

bool one_channel(const Algorithm& algorithm, const GroupShape& shape) {
  return algorithm.name != "ring" || ring_channels(shape) == 1;
}

}  // namespace

Seconds phase_time(const Phase& phase, const PartFigures& figures) {
  const double moving =
      phase.amount > 0 && figures.pace.link >= 0 ? phase.amount / figures.pace.rate.value() : 0.0;
  return phase.latency + figures.hop_latency * phase.steps + Seconds{moving};
}

void sum_links(RouteSummer& routes, Part part, const GroupShape& shape, std::span<const GpuId> gpus,
               RouteSum& out) {
  switch (part) {
    case Part::cycle:
      routes.cycle(gpus, out);
      return;
    case Part::pairs:
      routes.pairs(gpus, out);
      return;
    case Part::forwarded: {
      const ForwardWeights weights = forward_weights(shape);
      routes.forwarded(gpus, weights.rail, weights.pair, out);
      return;
    }
    case Part::ring:
    case Part::node:
    case Part::rail:
    case Part::scalar:
      routes.ring(gpus, out);
      return;
  }
  SHARDSIM_CHECK(false, "unknown part of a group");
}

PartFigures slowest_figures(const Fabric& fabric, RouteSummer& routes,
                            const std::vector<GpuId>& gpus, const GroupShape& shape, Part part) {
  PartFigures slowest;
  slowest.pace.rate = BytesPerSecond{std::numeric_limits<double>::infinity()};
  RouteSum sum;
  for (std::size_t lane = 0; lane < lanes_of(shape, part); ++lane) {
    const std::vector<GpuId> members = lane_members(gpus, shape, part, lane);
    sum_links(routes, part, shape, members, sum);
    const Pace pace = pace_of(fabric, sum.uses);
    if (lane == 0 || pace.rate < slowest.pace.rate) {
      slowest = {.hop_latency = sum.hop_latency, .pace = pace};
    }
  }
  return slowest;
}

Chosen choose_algorithm(Primitive primitive, Bytes bytes, const GroupShape& shape,
                        const RunSpec& run, const FiguresOf& figures, bool step_by_step) {
  const CollectiveCorrections& corrections = run.cluster.corrections;
  const std::string wanted = chosen_name(primitive, run);
  const bool scalar = bytes.value() <= kScalarBytes;
  Chosen best;
  for (const Algorithm& algorithm : collective_algorithms()) {
    if (!algorithm.applies(primitive, shape) || (step_by_step && !one_channel(algorithm, shape))) {
      continue;
    }
    Chosen candidate{.algorithm = &algorithm,
                     .phases = scalar ? scalar_phases(primitive, shape, corrections)
                                      : algorithm.phases(primitive, bytes, shape, corrections)};
    candidate.time = total_time(candidate.phases, figures);
    if (algorithm.name == wanted) {
      return candidate;
    }
    if (best.algorithm == nullptr || (wanted == "auto" && candidate.time < best.time)) {
      best = std::move(candidate);
    }
  }
  SHARDSIM_CHECK(best.algorithm != nullptr, "no algorithm for " + std::string(name(primitive)) +
                                                " over " + std::to_string(shape.ranks) +
                                                " ranks on " + std::to_string(shape.nodes) +
                                                " nodes");
  return best;
}

}  // namespace shardsim
