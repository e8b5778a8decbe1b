#include "lowering/groups.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/errors.h"

namespace shardsim {
namespace {

bool takes_part(const RankGrid& grid, Rank rank, const GroupKey& key) {
  if (!key.end_stages_only) {
    return true;
  }
  const std::int32_t stage = grid.coordinate(rank, Axis::pp);
  return stage == 0 || stage == grid.size(Axis::pp) - 1;
}

std::int32_t group_size(const RankGrid& grid, const GroupKey& key) {
  const std::int32_t all = grid.group_size(key.axes);
  if (key.neighbours > 0) {
    SHARDSIM_CHECK(!key.end_stages_only && all % key.neighbours == 0,
                   "a group falls into runs of equal size");
    return key.neighbours;
  }
  if (key.strided > 0) {
    SHARDSIM_CHECK(!key.end_stages_only && all % key.strided == 0,
                   "a group falls into strided parts of equal size");
    return all / key.strided;
  }
  if (key.mirrored_stages) {
    SHARDSIM_CHECK(all == grid.size(Axis::pp) && all % 2 == 0,
                   "mirrored stages are pairs along pp");
    return 2;
  }
  if (!key.end_stages_only) {
    return all;
  }
  const std::int32_t stages = grid.size(Axis::pp);
  return all / stages * std::min(stages, 2);
}

std::int32_t parts_of_group(const RankGrid& grid, const GroupKey& key) {
  if (key.strided > 0) {
    return key.strided;
  }
  if (key.mirrored_stages) {
    return grid.size(Axis::pp) / 2;
  }
  return key.neighbours > 0 ? grid.group_size(key.axes) / key.neighbours : 1;
}

std::int32_t part_of_rank(const RankGrid& grid, Rank rank, const GroupKey& key) {
  const std::int32_t place = grid.place_in_group(rank, key.axes);
  if (key.strided > 0) {
    return place % key.strided;
  }
  if (key.mirrored_stages) {
    return std::min(place, grid.size(Axis::pp) - 1 - place);
  }
  return key.neighbours > 0 ? place / key.neighbours : 0;
}

std::int32_t group_of(const RankGrid& grid, Rank rank, const GroupKey& key) {
  return grid.group_of(rank, key.axes) * parts_of_group(grid, key) + part_of_rank(grid, rank, key);
}

void sort_members(const NodeMap& map, Groups& groups) {
  const auto by_gpu = [&](Rank a, Rank b) {
    return at(map.gpu_of_rank, a) < at(map.gpu_of_rank, b);
  };
  for (std::int32_t group = 0; group < count(groups.shape_of_group); ++group) {
    const auto begin = groups.members.begin() + std::ptrdiff_t{group} * groups.size;
    const auto end = begin + groups.size;
    if (!std::is_sorted(begin, end, by_gpu)) {
      std::sort(begin, end, by_gpu);
    }
    for (auto member = begin; member != end; ++member) {
      at(groups.position_of_rank, *member) = static_cast<std::int32_t>(member - begin);
    }
  }
}

// Distinct nodes and ranks of a token's experts, by nodes and ranks of the group.
using Spreads = std::map<std::pair<std::int32_t, std::int32_t>, std::pair<double, double>>;

void set_spread(const std::optional<TokenSpread>& spread, GroupShape& shape, Spreads& known) {
  if (!spread || shape.min_per_node != shape.max_per_node) {
    return;
  }
  auto found = known.find({shape.nodes, shape.ranks});
  if (found == known.end()) {
    const std::pair distinct{distinct_holders(*spread, shape.nodes),
                             distinct_holders(*spread, shape.ranks)};
    found = known.emplace(std::pair{shape.nodes, shape.ranks}, distinct).first;
  }
  std::tie(shape.nodes_per_token, shape.ranks_per_token) = found->second;
  shape.copies_per_token = static_cast<double>(spread->top_k);
}

void find_shapes(const Fabric& fabric, const NodeMap& map, Groups& groups) {
  std::vector<GpuId> gpus;
  Spreads spreads;
  for (std::int32_t group = 0; group < count(groups.shape_of_group); ++group) {
    gpus.clear();
    for (const Rank member : groups.members_of(group)) {
      gpus.push_back(at(map.gpu_of_rank, member));
    }
    GroupShape shape = shape_of(fabric, gpus);
    set_spread(groups.key.spread, shape, spreads);
    const auto known = std::find(groups.shapes.begin(), groups.shapes.end(), shape);
    at(groups.shape_of_group, group) = static_cast<std::int32_t>(known - groups.shapes.begin());
    if (known == groups.shapes.end()) {
      groups.shapes.push_back(shape);
      groups.first_group_of_shape.push_back(group);
    }
  }
}

}  // namespace

GroupShape shape_of(const Fabric& fabric, std::span<const GpuId> gpus) {
  GroupShape shape{.ranks = static_cast<std::int32_t>(gpus.size()),
                   .nodes = 0,
                   .min_per_node = static_cast<std::int32_t>(gpus.size()),
                   .max_per_node = 0};
  for (std::size_t i = 0; i < gpus.size();) {
    const NodeId node = fabric.node_of(gpus[i]);
    std::int32_t here = 0;
    for (; i < gpus.size() && fabric.node_of(gpus[i]) == node; ++i) {
      ++here;
    }
    ++shape.nodes;
    shape.min_per_node = std::min(shape.min_per_node, here);
    shape.max_per_node = std::max(shape.max_per_node, here);
  }
  return shape;
}

Groups find_groups(const RankGrid& grid, const Fabric& fabric, const NodeMap& map,
                   const GroupKey& key) {
  const std::int32_t ranks = grid.ranks();
  Groups groups{.key = key, .size = group_size(grid, key)};
  const auto group_count = static_cast<std::size_t>(grid.group_count(key.axes)) *
                           static_cast<std::size_t>(parts_of_group(grid, key));
  groups.group_of_rank.assign(static_cast<std::size_t>(ranks), -1);
  groups.position_of_rank.assign(static_cast<std::size_t>(ranks), -1);
  groups.members.resize(group_count * static_cast<std::size_t>(groups.size));
  groups.shape_of_group.resize(group_count);
  std::vector<std::int32_t> filled(group_count, 0);
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (!takes_part(grid, rank, key)) {
      continue;
    }
    const std::int32_t group = group_of(grid, rank, key);
    at(groups.group_of_rank, rank) = group;
    const std::int32_t place = at(filled, group)++;
    SHARDSIM_CHECK(place < groups.size, "a group has more members than its axes allow");
    at(groups.members, std::int64_t{group} * groups.size + place) = rank;
  }
  sort_members(map, groups);
  find_shapes(fabric, map, groups);
  return groups;
}

}  // namespace shardsim
