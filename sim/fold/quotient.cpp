// Partition -> Folded: one representative per class, with the loads of its class on each link
// class.
#include <algorithm>
#include <limits>

#include "base/errors.h"
#include "base/offsets.h"
#include "fold/fold.h"
#include "fold/rows.h"

namespace shardsim {
namespace {

struct Classes {
  std::vector<std::int32_t> representative;
  std::vector<std::int32_t> size;
};

Classes collect(const std::vector<std::int32_t>& class_of) {
  Classes classes;
  for (std::int32_t i = 0; i < count(class_of); ++i) {
    const std::int32_t c = at(class_of, i);
    if (c < 0) {
      continue;
    }
    if (c == count(classes.representative)) {
      classes.representative.push_back(i);
      classes.size.push_back(0);
    }
    SHARDSIM_CHECK(c < count(classes.representative), "classes are not numbered by occurrence");
    ++at(classes.size, c);
  }
  return classes;
}

void add_ranks(const Lowered& lowered, const Partition& partition, Folded& folded) {
  const Classes classes = collect(partition.ranks);
  for (std::size_t c = 0; c < classes.size.size(); ++c) {
    const Rank rank = classes.representative[c];
    const std::int32_t first = at(lowered.first_slot, rank);
    const std::int32_t slots = at(lowered.first_slot, rank + 1) - first;
    folded.ranks.push_back({.representative = rank,
                            .size = classes.size[c],
                            .program = at(lowered.program_of_rank, rank),
                            .speed = at(lowered.speed_of_rank, rank),
                            .first_slot = count(folded.slot_lanes),
                            .slot_count = slots});
    for (std::int32_t slot = 0; slot < slots; ++slot) {
      folded.slot_lanes.push_back(at(partition.lanes, at(lowered.slot_lanes, first + slot)));
    }
  }
  folded.class_of_rank = partition.ranks;
}

void add_links(const Lowered& lowered, const Partition& partition, Folded& folded) {
  const Classes classes = collect(partition.links);
  for (std::size_t c = 0; c < classes.size.size(); ++c) {
    const LinkId link = classes.representative[c];
    folded.links.push_back({.representative = link,
                            .size = classes.size[c],
                            .capacity = at(lowered.link_capacity, link)});
  }
}

// The pace of one flow alone: its own weights, not those of its class.
void set_pace_alone(const Lowered& lowered, const Partition& partition, LaneClass& result) {
  const Lane& lane = at(lowered.lanes, result.representative);
  double pace = std::numeric_limits<double>::infinity();
  for (std::int32_t u = 0; u < lane.use_count; ++u) {
    const LinkUse& use = at(lowered.uses, lane.first_use + u);
    const double share =
        at(lowered.link_capacity, use.link).value() / static_cast<double>(use.weight);
    if (share < pace) {
      pace = share;
      result.bound_link = at(partition.links, use.link);
    }
  }
  result.pace_alone = BytesPerSecond{pace};
}

void add_lanes(const Lowered& lowered, const Partition& partition, Folded& folded) {
  const Classes classes = collect(partition.lanes);
  for (std::size_t c = 0; c < classes.size.size(); ++c) {
    LaneClass lane{.representative = classes.representative[c], .size = classes.size[c]};
    lane.hop_latency = at(lowered.lanes, lane.representative).hop_latency;
    set_pace_alone(lowered, partition, lane);
    folded.lanes.push_back(lane);
  }
  std::vector<std::int32_t> next =
      group_offsets(folded.lanes.size(), folded.slot_lanes, [](LaneId lane) { return lane; });
  for (std::size_t lane = 0; lane < folded.lanes.size(); ++lane) {
    folded.lanes[lane].first_member = next[lane];
    folded.lanes[lane].member_count = next[lane + 1] - next[lane];
  }
  folded.members.resize(folded.slot_lanes.size());
  for (std::int32_t rank = 0; rank < count(folded.ranks); ++rank) {
    const RankClass& rank_class = at(folded.ranks, rank);
    for (std::int32_t slot = 0; slot < rank_class.slot_count; ++slot) {
      const LaneId lane = at(folded.slot_lanes, rank_class.first_slot + slot);
      at(folded.members, at(next, lane)++) = {.rank_class = rank, .slot = slot};
    }
  }
}

// Summed weight of each lane class on each representative link, by link class, then lane class.
Rows representative_loads(const Lowered& lowered, const Partition& partition,
                          const Folded& folded) {
  std::vector<std::vector<RowEntry>> loads(folded.links.size());
  for (std::int32_t lane = 0; lane < count(lowered.lanes); ++lane) {
    const Lane& from = at(lowered.lanes, lane);
    for (std::int32_t u = 0; u < from.use_count; ++u) {
      const LinkUse& use = at(lowered.uses, from.first_use + u);
      const std::int32_t link = at(partition.links, use.link);
      if (at(folded.links, link).representative == use.link) {
        at(loads, link).push_back({.lane = at(partition.lanes, lane), .weight = use.weight});
      }
    }
  }
  Rows result;
  for (std::size_t link = 0; link < loads.size(); ++link) {
    std::vector<RowEntry>& entries = loads[link];
    std::sort(entries.begin(), entries.end(),
              [](const RowEntry& a, const RowEntry& b) { return a.lane < b.lane; });
    Row row{.link_class = static_cast<std::int32_t>(link),
            .capacity_Bps = folded.links[link].capacity.value(),
            .first = count(result.entries)};
    for (const RowEntry& entry : entries) {
      if (count(result.entries) > row.first && result.entries.back().lane == entry.lane) {
        result.entries.back().weight += entry.weight;
      } else {
        result.entries.push_back(entry);
      }
    }
    row.entry_count = count(result.entries) - row.first;
    result.rows.push_back(row);
  }
  return result;
}

// Where the entries of each lane class begin when they are sorted by it.
std::vector<std::int32_t> entry_offsets(const Rows& rows, const Folded& folded) {
  return group_offsets(folded.lanes.size(), rows.entries,
                       [](const RowEntry& entry) { return entry.lane; });
}

void add_loads(const Rows& all, Folded& folded) {
  folded.first_load = entry_offsets(all, folded);
  folded.loads.resize(all.entries.size());
  std::vector<std::int32_t> next = folded.first_load;
  for (const Row& row : all.rows) {
    for (std::int32_t i = 0; i < row.entry_count; ++i) {
      const RowEntry& entry = at(all.entries, row.first + i);
      at(folded.loads, at(next, entry.lane)++) = {.link_class = row.link_class,
                                                  .weight = entry.weight};
    }
  }
}

void add_rows(const Rows& kept, Folded& folded) {
  std::vector<std::int32_t> next = entry_offsets(kept, folded);
  for (std::size_t lane = 0; lane < folded.lanes.size(); ++lane) {
    folded.lanes[lane].first_use = next[lane];
    folded.lanes[lane].use_count = next[lane + 1] - next[lane];
  }
  folded.uses.resize(kept.entries.size());
  for (std::int32_t r = 0; r < count(kept.rows); ++r) {
    const Row& row = at(kept.rows, r);
    folded.rows.push_back(
        {.link_class = row.link_class, .capacity = BytesPerSecond{row.capacity_Bps}});
    for (std::int32_t i = 0; i < row.entry_count; ++i) {
      const RowEntry& entry = at(kept.entries, row.first + i);
      at(folded.uses, at(next, entry.lane)++) = {.link = r, .weight = entry.weight};
    }
  }
}

// Only rows of links that the topology lets bind: the others are implied by the links below them.
Rows binding(const Rows& all, const Lowered& lowered, const Folded& folded) {
  Rows result;
  for (Row row : all.rows) {
    const LinkId link = at(folded.links, row.link_class).representative;
    if (at(lowered.link_can_bind, link) == 0) {
      continue;
    }
    const auto first = all.entries.begin() + row.first;
    row.first = count(result.entries);
    result.entries.insert(result.entries.end(), first, first + row.entry_count);
    result.rows.push_back(row);
  }
  return result;
}

}  // namespace

Folded quotient(const Lowered& lowered, const Partition& partition) {
  Folded folded;
  folded.templates = lowered.templates;
  folded.programs = lowered.programs;
  folded.labels = lowered.labels;
  add_ranks(lowered, partition, folded);
  add_links(lowered, partition, folded);
  add_lanes(lowered, partition, folded);
  const Rows all = representative_loads(lowered, partition, folded);
  add_loads(all, folded);
  add_rows(simplify(binding(all, lowered, folded), count(folded.lanes)), folded);
  return folded;
}

Partition discrete_partition(const Lowered& lowered) {
  Partition partition;
  for (std::int32_t rank = 0; rank < count(lowered.program_of_rank); ++rank) {
    partition.ranks.push_back(rank);
  }
  for (std::int32_t lane = 0; lane < count(lowered.lanes); ++lane) {
    partition.lanes.push_back(lane);
  }
  partition.links.assign(lowered.link_capacity.size(), -1);
  for (const LinkUse& use : lowered.uses) {
    at(partition.links, use.link) = 0;
  }
  std::int32_t next = 0;
  for (std::int32_t& link : partition.links) {
    link = link < 0 ? -1 : next++;
  }
  return partition;
}

Folded fold(const Lowered& lowered, FoldMode mode) {
  const Partition partition = mode == FoldMode::off ? discrete_partition(lowered) : refine(lowered);
  if (mode != FoldMode::off) {
    check_partition(lowered, partition);
  }
  return quotient(lowered, partition);
}

}  // namespace shardsim
