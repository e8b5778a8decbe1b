// What the formats allow but the workload does not implement: refused by name, never ignored.
#pragma once

#include <vector>

#include "base/errors.h"
#include "spec/run_spec.h"

namespace shardsim {

// Empty when a program can be built.
[[nodiscard]] std::vector<Problem> unsupported(const RunSpec& run);

}  // namespace shardsim
