// What a result rests on, in sentences: defaults that filled the run file, figures that are assumed
// rather than measured, and what is not modelled. Order is fixed; the same run gives the same list.
#pragma once

#include <string>
#include <vector>

#include "spec/run_spec.h"

namespace shardsim {

[[nodiscard]] std::vector<std::string> assumptions_of(const RunSpec& run);

}  // namespace shardsim
