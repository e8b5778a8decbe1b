#include "workload/rank_variant.h"

#include <map>
#include <utility>

#include "base/ids.h"
#include "sharding/moe.h"
#include "workload/context.h"

namespace shardsim {

RankVariants rank_variants(const RunSpec& run, const RankGrid& grid) {
  const ExpertLoads loads = expert_loads(run);
  // Of attention and load. Where ep runs over cp's ranks not every pair has a rank.
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> index;
  for (Rank rank = 0; rank < grid.ranks(); ++rank) {
    const std::int32_t load =
        run.model.moe ? at(loads.kind_of_place, grid.coordinate(rank, Axis::ep)) : 0;
    pairs.emplace_back(attention_kind(run, grid.coordinate(rank, Axis::cp)), load);
    index.emplace(pairs.back(), 0);
  }
  RankVariants result;
  for (auto& [pair, place] : index) {
    place = count(result.variants);
    result.variants.push_back({.load = at(loads.kinds, pair.second), .attention_kind = pair.first});
  }
  for (const auto& pair : pairs) {
    result.of_rank.push_back(index.at(pair));
  }
  return result;
}

}  // namespace shardsim
