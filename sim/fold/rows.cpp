#include "fold/rows.h"

#include <numeric>

#include "base/ids.h"

namespace shardsim {
namespace {

void divide_by_common_divisor(Row& row, std::vector<RowEntry>& entries) {
  std::int64_t divisor = 0;
  for (std::int32_t i = 0; i < row.entry_count; ++i) {
    divisor = std::gcd(divisor, at(entries, row.first + i).weight);
  }
  if (divisor <= 1) {
    return;
  }
  for (std::int32_t i = 0; i < row.entry_count; ++i) {
    at(entries, row.first + i).weight /= divisor;
  }
  row.capacity_Bps /= static_cast<double>(divisor);
}

// Whether row b implies row a: for each lane of a, weight_b / capacity_b >= weight_a / capacity_a.
bool implies(const Rows& rows, const Row& b, const Row& a, bool& equal) {
  equal = a.entry_count == b.entry_count;
  std::int32_t j = 0;
  for (std::int32_t i = 0; i < a.entry_count; ++i) {
    const RowEntry& mine = at(rows.entries, a.first + i);
    while (j < b.entry_count && at(rows.entries, b.first + j).lane < mine.lane) {
      ++j;
    }
    if (j == b.entry_count || at(rows.entries, b.first + j).lane != mine.lane) {
      return false;
    }
    const double theirs =
        static_cast<double>(at(rows.entries, b.first + j).weight) * a.capacity_Bps;
    const double ours = static_cast<double>(mine.weight) * b.capacity_Bps;
    if (theirs < ours) {
      return false;
    }
    equal = equal && theirs == ours;
  }
  return true;
}

// Rows kept so far that each lane is in. A row can only be implied by one that shares its lanes, so
// the lane with the fewest kept rows is where to look.
class KeptRows {
 public:
  KeptRows(const Rows& rows, std::int32_t lanes)
      : rows_(rows), of_lane_(static_cast<std::size_t>(lanes)), kept_(rows.rows.size(), 1) {}

  void add(std::int32_t index) {
    const Row& row = at(rows_.rows, index);
    if (row.entry_count == 0 || implied_by_another(index)) {
      at(kept_, index) = 0;
      return;
    }
    for (std::int32_t i = 0; i < row.entry_count; ++i) {
      at(of_lane_, at(rows_.entries, row.first + i).lane).push_back(index);
    }
  }

  // A row met early can be implied by a later one.
  void drop_implied_by_later() {
    for (std::int32_t index = 0; index < count(rows_.rows); ++index) {
      if (at(kept_, index) != 0 && implied_by_another(index)) {
        at(kept_, index) = 0;
      }
    }
  }

  [[nodiscard]] bool kept(std::int32_t index) const { return at(kept_, index) != 0; }

 private:
  [[nodiscard]] bool implied_by_another(std::int32_t index) const {
    const Row& row = at(rows_.rows, index);
    const std::vector<std::int32_t>* fewest = nullptr;
    for (std::int32_t i = 0; i < row.entry_count; ++i) {
      const auto& candidates = at(of_lane_, at(rows_.entries, row.first + i).lane);
      if (fewest == nullptr || candidates.size() < fewest->size()) {
        fewest = &candidates;
      }
    }
    for (const std::int32_t other : *fewest) {
      bool equal = false;
      if (other != index && at(kept_, other) != 0 &&
          implies(rows_, at(rows_.rows, other), row, equal) && (!equal || other < index)) {
        return true;
      }
    }
    return false;
  }

  const Rows& rows_;
  std::vector<std::vector<std::int32_t>> of_lane_;
  std::vector<std::uint8_t> kept_;
};

}  // namespace

Rows simplify(const Rows& rows, std::int32_t lanes) {
  Rows divided = rows;
  for (Row& row : divided.rows) {
    divide_by_common_divisor(row, divided.entries);
  }
  KeptRows kept(divided, lanes);
  for (std::int32_t i = 0; i < count(divided.rows); ++i) {
    kept.add(i);
  }
  kept.drop_implied_by_later();
  Rows result;
  for (std::int32_t i = 0; i < count(divided.rows); ++i) {
    if (!kept.kept(i)) {
      continue;
    }
    Row row = at(divided.rows, i);
    const auto first = divided.entries.begin() + row.first;
    row.first = count(result.entries);
    result.entries.insert(result.entries.end(), first, first + row.entry_count);
    result.rows.push_back(row);
  }
  return result;
}

}  // namespace shardsim
