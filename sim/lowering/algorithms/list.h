// The algorithms that table.cpp lists, one per file.
#pragma once

#include "lowering/algorithms/algorithm.h"

namespace shardsim {

[[nodiscard]] Algorithm ring_algorithm();
[[nodiscard]] Algorithm hierarchical_algorithm();
[[nodiscard]] Algorithm pairwise_algorithm();
[[nodiscard]] Algorithm forwarded_algorithm();
[[nodiscard]] Algorithm send_recv_algorithm();

}  // namespace shardsim
