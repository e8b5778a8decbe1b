#include "sharding/rank_grid.h"

#include <limits>

#include "base/errors.h"

namespace shardsim {
namespace {

bool contains(AxisSet axes, Axis axis) { return (axes & axis_set(axis)) != 0; }

std::int64_t size_along(const ParallelSpec& parallel, Axis axis) {
  switch (axis) {
    case Axis::tp:
      return parallel.tp;
    case Axis::cp:
      return parallel.cp;
    case Axis::ep:
      return 1;  // the dense grid drops ep; experts have a grid of their own
    case Axis::dp:
      return parallel.dp;
    case Axis::pp:
      return parallel.pp;
  }
  SHARDSIM_CHECK(false, "axis without a size");
}

}  // namespace

RankGrid::RankGrid(const ParallelSpec& parallel) : order_(parallel.order) {
  AxisSet seen = 0;
  std::int64_t stride = 1;
  for (const Axis axis : order_) {
    SHARDSIM_CHECK(!contains(seen, axis), "the order names an axis twice");
    seen = static_cast<AxisSet>(seen | axis_set(axis));
    const std::int64_t size = size_along(parallel, axis);
    SHARDSIM_CHECK(size >= 1, "an axis of the grid has no ranks");
    at(sizes_, static_cast<int>(axis)) = static_cast<std::int32_t>(size);
    at(strides_, static_cast<int>(axis)) = static_cast<std::int32_t>(stride);
    stride = checked_mul(stride, size);
    SHARDSIM_CHECK(stride <= std::numeric_limits<Rank>::max(), "more ranks than a Rank can name");
  }
  ranks_ = static_cast<std::int32_t>(stride);
}

std::int32_t RankGrid::group_size(AxisSet axes) const {
  std::int32_t result = 1;
  for (const Axis axis : order_) {
    if (contains(axes, axis)) {
      result *= size(axis);
    }
  }
  return result;
}

std::int32_t RankGrid::coordinate(Rank rank, Axis axis) const {
  return rank / at(strides_, static_cast<int>(axis)) % size(axis);
}

Coordinates RankGrid::coordinates(Rank rank) const {
  Coordinates result{};
  for (const Axis axis : order_) {
    at(result, static_cast<int>(axis)) = coordinate(rank, axis);
  }
  return result;
}

Rank RankGrid::rank_at(const Coordinates& coordinates) const {
  Rank rank = 0;
  for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
    rank += coordinates[axis] * strides_[axis];
  }
  return rank;
}

// Groups and places are numbered by the coordinates left, fastest axis first, so that both rise
// with the rank.
std::int32_t RankGrid::group_of(Rank rank, AxisSet axes) const {
  return place_in_group(rank, static_cast<AxisSet>(~axes));
}

std::int32_t RankGrid::place_in_group(Rank rank, AxisSet axes) const {
  std::int32_t place = 0;
  std::int32_t stride = 1;
  for (const Axis axis : order_) {
    if (contains(axes, axis)) {
      place += coordinate(rank, axis) * stride;
      stride *= size(axis);
    }
  }
  return place;
}

std::vector<Rank> RankGrid::members(std::int32_t group, AxisSet axes) const {
  Rank first = 0;
  std::int32_t rest = group;
  for (const Axis axis : order_) {
    if (!contains(axes, axis)) {
      first += rest % size(axis) * at(strides_, static_cast<int>(axis));
      rest /= size(axis);
    }
  }
  std::vector<Rank> result{first};
  result.reserve(static_cast<std::size_t>(group_size(axes)));
  for (const Axis axis : order_) {  // slower axes repeat what the faster ones have laid out
    const std::size_t block = result.size();
    for (std::int32_t i = 1; contains(axes, axis) && i < size(axis); ++i) {
      for (std::size_t k = 0; k < block; ++k) {
        result.push_back(result[k] + i * at(strides_, static_cast<int>(axis)));
      }
    }
  }
  return result;
}

Rank RankGrid::stage_neighbour(Rank rank, std::int32_t offset) const {
  const std::int32_t stages = size(Axis::pp);
  const std::int32_t stage = coordinate(rank, Axis::pp);
  const std::int32_t other = ((stage + offset) % stages + stages) % stages;
  return rank + (other - stage) * at(strides_, static_cast<int>(Axis::pp));
}

}  // namespace shardsim
