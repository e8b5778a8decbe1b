// Names operations that never started or never ended, for the error of a replay that got stuck.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "replay/op_graph.h"
#include "replay/times.h"

namespace shardsim {

inline constexpr double kNotEnded = std::numeric_limits<double>::infinity();

// Collectives and messages that some member reached and others did not come first: they are why.
[[nodiscard]] std::string describe_stuck(const Folded& folded, const std::vector<OpGraph>& graphs,
                                         const Times& times,
                                         const std::vector<std::uint16_t>& pending,
                                         const std::vector<std::size_t>& first_pending);

}  // namespace shardsim
