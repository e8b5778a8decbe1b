#include "sharding/rank_grid.h"

#include <limits>

#include "base/errors.h"

namespace shardsim {
namespace {

constexpr AxisSet kExpertAxes =
    static_cast<AxisSet>(axis_set(Axis::etp) | axis_set(Axis::ep) | axis_set(Axis::edp));
constexpr AxisSet kDenseAxes =
    static_cast<AxisSet>(axis_set(Axis::tp) | axis_set(Axis::cp) | axis_set(Axis::dp));

bool contains(AxisSet axes, Axis axis) { return (axes & axis_set(axis)) != 0; }

std::array<Axis, 4> dense_order(const ParallelSpec& parallel) {
  std::array<Axis, 4> order{};
  std::size_t next = 0;
  for (const Axis axis : parallel.order) {
    if (axis != Axis::ep) {
      SHARDSIM_CHECK(next < order.size(), "the order names an axis twice");
      order[next++] = axis;
    }
  }
  return order;
}

// Ranks between neighbours along pp.
std::int64_t stage_stride(const ParallelSpec& parallel, const std::array<Axis, 4>& order) {
  std::int64_t stride = 1;
  for (const Axis axis : order) {
    if (axis == Axis::pp) {
      break;
    }
    stride = checked_mul(stride, axis_size(parallel, axis));
  }
  return stride;
}

}  // namespace

std::int64_t axis_size(const ParallelSpec& parallel, Axis axis) {
  switch (axis) {
    case Axis::tp:
      return parallel.tp;
    case Axis::cp:
      return parallel.cp;
    case Axis::ep:
      return parallel.ep;
    case Axis::dp:
      return parallel.dp;
    case Axis::pp:
      return parallel.pp;
    case Axis::etp:
      return parallel.etp;
    case Axis::edp:
      return checked_mul(checked_mul(parallel.tp, parallel.cp), parallel.dp) /
             checked_mul(parallel.etp, parallel.ep);
  }
  SHARDSIM_CHECK(false, "axis without a size");
}

std::array<Axis, 4> expert_order(const ParallelSpec& parallel) {
  std::array<Axis, 4> order{};
  std::size_t next = 0;
  for (const Axis axis : parallel.order) {
    if (axis != Axis::cp) {
      SHARDSIM_CHECK(next < order.size(), "the order names an axis twice");
      order[next++] = axis == Axis::tp ? Axis::etp : axis == Axis::dp ? Axis::edp : axis;
    }
  }
  return order;
}

bool grids_agree(const ParallelSpec& parallel) {
  return parallel.pp == 1 || stage_stride(parallel, dense_order(parallel)) ==
                                 stage_stride(parallel, expert_order(parallel));
}

RankGrid::RankGrid(const ParallelSpec& parallel)
    : dense_(dense_order(parallel)), expert_(expert_order(parallel)) {
  // The experts' grid first: both have pp, whose stride here is the dense one.
  for (const std::array<Axis, 4>& order : {expert_, dense_}) {
    AxisSet seen = 0;
    std::int64_t stride = 1;
    for (const Axis axis : order) {
      SHARDSIM_CHECK(!contains(seen, axis), "the order names an axis twice");
      seen = static_cast<AxisSet>(seen | axis_set(axis));
      const std::int64_t size = axis_size(parallel, axis);
      SHARDSIM_CHECK(size >= 1, "an axis of the grid has no ranks");
      at(sizes_, static_cast<int>(axis)) = static_cast<std::int32_t>(size);
      at(strides_, static_cast<int>(axis)) = static_cast<std::int32_t>(stride);
      stride = checked_mul(stride, size);
      SHARDSIM_CHECK(stride <= std::numeric_limits<Rank>::max(), "more ranks than a Rank can name");
    }
    ranks_ = static_cast<std::int32_t>(stride);
  }
  SHARDSIM_CHECK(group_size(static_cast<AxisSet>(kExpertAxes | axis_set(Axis::pp))) == ranks_,
                 "the experts' grid has not as many ranks as the dense one");
}

std::span<const Axis> RankGrid::order_of(AxisSet axes) const {
  const bool expert = (axes & kExpertAxes) != 0;
  SHARDSIM_CHECK(!expert || (axes & kDenseAxes) == 0, "a group of axes of both grids");
  return expert ? std::span<const Axis>(expert_) : std::span<const Axis>(dense_);
}

std::int32_t RankGrid::group_size(AxisSet axes) const {
  std::int32_t result = 1;
  for (const Axis axis : order_of(axes)) {
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
  for (const Axis axis : dense_) {
    at(result, static_cast<int>(axis)) = coordinate(rank, axis);
  }
  return result;
}

Rank RankGrid::rank_at(const Coordinates& coordinates) const {
  Rank rank = 0;
  for (const Axis axis : dense_) {
    rank += at(coordinates, static_cast<int>(axis)) * at(strides_, static_cast<int>(axis));
  }
  return rank;
}

// Groups and places are numbered by the coordinates left, fastest axis first, so that both rise
// with the rank.
std::int32_t RankGrid::place(Rank rank, std::span<const Axis> order, AxisSet axes) const {
  std::int32_t result = 0;
  std::int32_t stride = 1;
  for (const Axis axis : order) {
    if (contains(axes, axis)) {
      result += coordinate(rank, axis) * stride;
      stride *= size(axis);
    }
  }
  return result;
}

std::int32_t RankGrid::group_of(Rank rank, AxisSet axes) const {
  return place(rank, order_of(axes), static_cast<AxisSet>(~axes));
}

std::int32_t RankGrid::place_in_group(Rank rank, AxisSet axes) const {
  return place(rank, order_of(axes), axes);
}

std::vector<Rank> RankGrid::members(std::int32_t group, AxisSet axes) const {
  const std::span<const Axis> order = order_of(axes);
  Rank first = 0;
  std::int32_t rest = group;
  for (const Axis axis : order) {
    if (!contains(axes, axis)) {
      first += rest % size(axis) * at(strides_, static_cast<int>(axis));
      rest /= size(axis);
    }
  }
  std::vector<Rank> result{first};
  result.reserve(static_cast<std::size_t>(group_size(axes)));
  for (const Axis axis : order) {  // slower axes repeat what the faster ones have laid out
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
