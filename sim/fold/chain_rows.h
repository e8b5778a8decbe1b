// What happens inside one chain: its operations with their times, for every rank class of the
// domain.
//
// Placement of a pass -> Chain. Of all operations those that the placement puts into the chain, in
// order, with the dependencies that lie within it.
#pragma once

#include <vector>

#include "fold/lockstep.h"

namespace shardsim {

[[nodiscard]] Chain make_chain(const Domain& domain,
                               const std::vector<const LoweredTemplate*>& from,
                               const Placement& placement, std::int32_t chain);

}  // namespace shardsim
