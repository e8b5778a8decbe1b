// A run's `perturbations` applied to a built fabric: a slow GPU or node lowers gpu_speed, a slow
// link or rail lowers capacities. Fractions multiply when entries overlap.
//
// A rail's fraction holds for its NICs and its leaf switches. Jitter is not the fabric's.
#pragma once

#include <vector>

#include "platform/fabric.h"

namespace shardsim {

// Rails and links that the fabric does not have, with pointers of the run file.
[[nodiscard]] std::vector<Problem> absent_places(const RunSpec& run, const Fabric& fabric);

// REQUIRES no absent_places, and what the reader checks: GPUs and nodes that exist, fractions,
// neither dead links nor single spines.
void apply_perturbations(const RunSpec& run, Fabric& fabric);

}  // namespace shardsim
