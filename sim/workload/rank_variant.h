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

struct RankVariants {
  std::vector<RankVariant> variants;  // at least one, each some rank's
  std::vector<std::int32_t> of_rank;  // index into variants
};

[[nodiscard]] RankVariants rank_variants(const RunSpec& run, const RankGrid& grid);

}  // namespace shardsim
