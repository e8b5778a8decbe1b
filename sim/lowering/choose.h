// Which algorithm carries a collective, and how long it takes alone.
//
// `auto` takes the algorithm with the smallest predicted time, the first in the table when equal; a
// named algorithm is taken wherever it applies to the group's shape, the ring elsewhere.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lowering/algorithms/algorithm.h"
#include "lowering/ring_links.h"
#include "spec/run_spec.h"

namespace shardsim {

// What a flow over one part of a group meets.
struct PartFigures {
  Seconds hop_latency{};
  Pace pace;
};
using FiguresOf = std::function<PartFigures(Part part)>;

struct Chosen {
  const Algorithm* algorithm = nullptr;
  std::vector<Phase> phases;
  Seconds time{};  // alone, latency included
};

// REQUIRES: some algorithm applies. `step_by_step`: only rings of one channel.
[[nodiscard]] Chosen choose_algorithm(Primitive primitive, Bytes bytes, const GroupShape& shape,
                                      const RunSpec& run, const FiguresOf& figures,
                                      bool step_by_step = false);

// Time of one phase when nothing shares its links.
[[nodiscard]] Seconds phase_time(const Phase& phase, const PartFigures& figures);

// Links of one lane of a part of a group.
void sum_links(RouteSummer& routes, Part part, const GroupShape& shape, std::span<const GpuId> gpus,
               RouteSum& out);

// Figures of the slowest lane of a part: a ring over all of `gpus` (sorted), over those of a node,
// over the i-th of each node.
[[nodiscard]] PartFigures slowest_figures(const Fabric& fabric, RouteSummer& routes,
                                          const std::vector<GpuId>& gpus, const GroupShape& shape,
                                          Part part);

}  // namespace shardsim
