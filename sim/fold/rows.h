// Capacity rows of a folded job and their exact simplification.
//
// A row says: the sum over lanes of weight * rate <= capacity. Dividing a row by a common divisor
// of its weights, and dropping a row that another implies, leave the set of possible rates
// unchanged, and with it the max-min fair rates.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace shardsim {

struct RowEntry {
  std::int32_t lane = 0;
  std::int64_t weight = 0;
};

struct Row {
  std::int32_t link_class = 0;
  double capacity_Bps = 0;
  std::int32_t first = 0;  // into the entries
  std::int32_t entry_count = 0;
};

struct Rows {
  std::vector<Row> rows;
  std::vector<RowEntry> entries;  // of each row by rising lane
};

// Divides by common divisors and drops dominated rows; of equal rows the first is kept.
// `lanes` is the number of lanes that entries name.
[[nodiscard]] Rows simplify(const Rows& rows, std::int32_t lanes);

}  // namespace shardsim
