// Entries sorted by group, without moving them: where each group begins.
//
//   groups of the entries: 2 0 2 2   three groups   ->   offsets 0 1 1 4
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "base/ids.h"

namespace shardsim {

// size groups + 1. group_of(entry) is the entry's group, 0 .. groups - 1.
template <class Entries, class GroupOf>
[[nodiscard]] std::vector<std::int32_t> group_offsets(std::size_t groups, const Entries& entries,
                                                      GroupOf group_of) {
  std::vector<std::int32_t> offsets(groups + 1, 0);
  for (const auto& entry : entries) {
    ++at(offsets, group_of(entry) + 1);
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

}  // namespace shardsim
