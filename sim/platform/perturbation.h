// One entry of a run's `perturbations` applied to a built fabric: a slow GPU or node lowers
// gpu_speed, a slow link or rail lowers capacities. Fractions multiply when entries overlap.
//
// A rail's fraction holds for its NICs and its leaf switches. What is wrong (no such GPU, node,
// rail or link, dead links, single spines) is added to `problems` with the pointer of the entry.
#pragma once

#include <cstddef>
#include <vector>

#include "platform/fabric.h"

namespace shardsim {

struct PerturbationContext {
  const RunSpec& run;
  Fabric& fabric;
  std::vector<Problem>& problems;
};

void apply_perturbation(const PerturbationContext& context, std::size_t index);

}  // namespace shardsim
