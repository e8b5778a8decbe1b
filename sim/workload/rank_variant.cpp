#include "workload/rank_variant.h"

#include "base/ids.h"
#include "sharding/moe.h"
#include "workload/context.h"

namespace shardsim {

std::vector<RankVariant> rank_variants(const RunSpec& run) {
  std::vector<RankVariant> variants;
  const ExpertLoads loads = expert_loads(run);
  for (std::int32_t attention = 0; attention < attention_kinds(run); ++attention) {
    for (const double load : loads.kinds) {
      variants.push_back({.load = load, .attention_kind = attention});
    }
  }
  return variants;
}

std::vector<std::int32_t> variants_of_ranks(const RunSpec& run, const RankGrid& grid) {
  const ExpertLoads loads = expert_loads(run);
  std::vector<std::int32_t> result;
  result.reserve(static_cast<std::size_t>(grid.ranks()));
  for (Rank rank = 0; rank < grid.ranks(); ++rank) {
    const std::int32_t load =
        run.model.moe ? at(loads.kind_of_place, grid.coordinate(rank, Axis::ep)) : 0;
    const std::int32_t attention = attention_kind(run, grid.coordinate(rank, Axis::cp));
    result.push_back(attention * count(loads.kinds) + load);
  }
  return result;
}

}  // namespace shardsim
