// What differs between the ranks of one stage. A kind of rank is a stage and a variant.
#pragma once

#include <cstdint>
#include <vector>

#include "sharding/rank_grid.h"
#include "spec/run_spec.h"

namespace shardsim {

struct RankVariant {
  double load = 1.0;                // tokens of the rank's experts over the mean (sharding/moe.h)
  std::int32_t attention_kind = 0;  // unequal work in a cp group (workload/context.h)
  bool operator==(const RankVariant&) const = default;
};

[[nodiscard]] std::vector<RankVariant> rank_variants(const RunSpec& run);  // at least one
// Index into rank_variants of each rank.
[[nodiscard]] std::vector<std::int32_t> variants_of_ranks(const RunSpec& run, const RankGrid& grid);

}  // namespace shardsim
