// Perturbations that cannot change a result, in words for warnings: a link or rail over which no
// communication of the job goes, a GPU or node that holds no rank.
//
//   perturbation {"link": "node3.nic2", "bandwidth": 0.5} of a job on one node
//   -> "perturbation of link node3.nic2 has no effect: no traffic crosses it"
#pragma once

#include <string>
#include <vector>

#include "lowering/lowered.h"
#include "platform/fabric.h"

namespace shardsim {

// REQUIRES: `lowered` is the run's program on `fabric`, under `map`.
[[nodiscard]] std::vector<std::string> idle_perturbations(const RunSpec& run, const Fabric& fabric,
                                                          const NodeMap& map,
                                                          const Lowered& lowered);

}  // namespace shardsim
