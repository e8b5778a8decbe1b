// Perturbations in words, for people: "GPU 0 at 0.01 of its speed".
#pragma once

#include <string>

#include "spec/run_spec.h"

namespace shardsim {

[[nodiscard]] std::string perturbation_text(const Perturbation& perturbation);
// All of a run, joined by "; "; "" when there are none.
[[nodiscard]] std::string perturbations_text(const RunSpec& run);

}  // namespace shardsim
