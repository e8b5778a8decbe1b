// Compares each rank, lane and link exactly with the representative of its class.
#include <algorithm>
#include <string>
#include <utility>

#include "base/errors.h"
#include "fold/fold.h"

namespace shardsim {
namespace {

std::vector<std::int32_t> representatives(const std::vector<std::int32_t>& class_of) {
  std::vector<std::int32_t> result;
  for (std::int32_t i = 0; i < count(class_of); ++i) {
    if (at(class_of, i) == count(result)) {
      result.push_back(i);
    }
  }
  return result;
}

using Pair = std::pair<std::int64_t, std::int64_t>;
using Pairs = std::vector<Pair>;

// Incidences grouped by owner: those of owner i are pairs[first[i]] .. pairs[first[i + 1]].
struct Incidences {
  std::vector<std::int32_t> first;
  Pairs pairs;

  [[nodiscard]] bool same(std::int32_t a, std::int32_t b) const {
    return std::equal(pairs.begin() + at(first, a), pairs.begin() + at(first, a + 1),
                      pairs.begin() + at(first, b), pairs.begin() + at(first, b + 1));
  }
};

// `visit(add)` calls add(owner, pair) for each incidence; it is run twice.
template <class Visit>
Incidences group(std::size_t owners, Visit visit) {
  Incidences result;
  result.first.assign(owners + 1, 0);
  visit([&](std::int32_t owner, Pair) { ++at(result.first, owner + 1); });
  for (std::size_t i = 0; i < owners; ++i) {
    result.first[i + 1] += result.first[i];
  }
  result.pairs.resize(static_cast<std::size_t>(result.first.back()));
  std::vector<std::int32_t> next(result.first.begin(), result.first.end() - 1);
  visit([&](std::int32_t owner, Pair pair) { at(result.pairs, at(next, owner)++) = pair; });
  for (std::size_t i = 0; i < owners; ++i) {
    std::sort(result.pairs.begin() + result.first[i], result.pairs.begin() + result.first[i + 1]);
  }
  return result;
}

void check_ranks(const Lowered& lowered, const Partition& partition) {
  const auto models = representatives(partition.ranks);
  for (std::int32_t rank = 0; rank < count(partition.ranks); ++rank) {
    const Rank model = at(models, at(partition.ranks, rank));
    const std::int32_t mine = at(lowered.first_slot, rank);
    const std::int32_t theirs = at(lowered.first_slot, model);
    const std::int32_t slots = at(lowered.first_slot, rank + 1) - mine;
    bool same = at(lowered.program_of_rank, rank) == at(lowered.program_of_rank, model) &&
                at(lowered.speed_of_rank, rank) == at(lowered.speed_of_rank, model) &&
                slots == at(lowered.first_slot, model + 1) - theirs;
    for (std::int32_t s = 0; same && s < slots; ++s) {
      same = at(partition.lanes, at(lowered.slot_lanes, mine + s)) ==
             at(partition.lanes, at(lowered.slot_lanes, theirs + s));
    }
    SHARDSIM_CHECK(same, "rank " + std::to_string(rank) + " is not like its representative");
  }
}

void check_lanes(const Lowered& lowered, const Partition& partition) {
  const Incidences members = group(lowered.lanes.size(), [&](auto add) {
    for (std::int32_t rank = 0; rank < count(partition.ranks); ++rank) {
      const std::int32_t first = at(lowered.first_slot, rank);
      for (std::int32_t s = first; s < at(lowered.first_slot, rank + 1); ++s) {
        add(at(lowered.slot_lanes, s), Pair{at(partition.ranks, rank), s - first});
      }
    }
  });
  const Incidences links = group(lowered.lanes.size(), [&](auto add) {
    for (std::int32_t lane = 0; lane < count(lowered.lanes); ++lane) {
      const Lane& row = at(lowered.lanes, lane);
      for (std::int32_t u = 0; u < row.use_count; ++u) {
        const LinkUse& use = at(lowered.uses, row.first_use + u);
        if (at(lowered.link_can_bind, use.link) != 0) {
          add(lane, Pair{at(partition.links, use.link), use.weight});
        }
      }
    }
  });
  const auto models = representatives(partition.lanes);
  for (std::int32_t lane = 0; lane < count(lowered.lanes); ++lane) {
    const LaneId model = at(models, at(partition.lanes, lane));
    const Lane& mine = at(lowered.lanes, lane);
    const Lane& theirs = at(lowered.lanes, model);
    SHARDSIM_CHECK(mine.kind == theirs.kind && mine.hop_latency == theirs.hop_latency &&
                       members.same(lane, model) && links.same(lane, model),
                   "lane " + std::to_string(lane) + " is not like its representative");
  }
}

void check_links(const Lowered& lowered, const Partition& partition) {
  Incidences carried = group(lowered.link_capacity.size(), [&](auto add) {
    for (std::int32_t lane = 0; lane < count(lowered.lanes); ++lane) {
      const Lane& row = at(lowered.lanes, lane);
      for (std::int32_t u = 0; u < row.use_count; ++u) {
        const LinkUse& use = at(lowered.uses, row.first_use + u);
        add(use.link, Pair{at(partition.lanes, lane), use.weight});
      }
    }
  });
  // Weights of one lane class on one link add up; what is merged away becomes {-1, 0} at the end.
  for (std::int32_t link = 0; link < count(lowered.link_capacity); ++link) {
    const auto begin = carried.pairs.begin() + at(carried.first, link);
    const auto end = carried.pairs.begin() + at(carried.first, link + 1);
    auto kept = begin;
    for (auto next = begin; next != end; ++next) {
      if (kept != begin && (kept - 1)->first == next->first) {
        (kept - 1)->second += next->second;
      } else {
        *kept++ = *next;
      }
    }
    std::fill(kept, end, Pair{-1, 0});
  }
  const auto models = representatives(partition.links);
  const auto used = [&](std::int32_t link) {
    const auto begin = carried.pairs.begin() + at(carried.first, link);
    const auto end = carried.pairs.begin() + at(carried.first, link + 1);
    return std::pair{begin, std::find(begin, end, Pair{-1, 0})};
  };
  for (std::int32_t link = 0; link < count(lowered.link_capacity); ++link) {
    if (at(partition.links, link) < 0) {
      continue;
    }
    const LinkId model = at(models, at(partition.links, link));
    const auto [begin, end] = used(link);
    const auto [model_begin, model_end] = used(model);
    SHARDSIM_CHECK(at(lowered.link_capacity, link) == at(lowered.link_capacity, model) &&
                       at(lowered.link_can_bind, link) == at(lowered.link_can_bind, model) &&
                       std::equal(begin, end, model_begin, model_end),
                   "link " + std::to_string(link) + " is not like its representative");
  }
}

}  // namespace

void check_partition(const Lowered& lowered, const Partition& partition) {
  check_ranks(lowered, partition);
  check_lanes(lowered, partition);
  check_links(lowered, partition);
}

}  // namespace shardsim
