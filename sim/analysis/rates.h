// Rates by a convention that is not the default one.
#pragma once

#include "analysis/analysis.h"
#include "sharding/parameters.h"

namespace shardsim {

// HFU adds the forward work that is done again, as the convention counts it; megatron-sc21 has
// counted it already.
[[nodiscard]] Rates rates(const RunSpec& run, double step_s, const FlopsConvention& convention);

}  // namespace shardsim
