// The grids of ranks: coordinates along their axes and the process groups they define.
//
// The order string lists axes fastest first (Megatron's default tp-cp-ep-dp-pp; parallel_state.py).
// Dense layers see the grid tp x cp x dp x pp: the order without ep. Experts see etp x ep x edp x
// pp over the same ranks: the order without cp, tp read as etp and dp as edp, where edp = tp cp dp
// / (etp ep). Everything is arithmetic on strides; nothing is tabulated per pair.
//   tp 4, cp 2, 8 ranks: cp groups {0,4} {1,5} {2,6} {3,7}
//   tp 2, dp 4, ep 4, 8 ranks: ep groups {0,1,2,3} {4,5,6,7}, edp groups {0,4} {1,5} {2,6} {3,7}
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "sharding/primitive.h"
#include "spec/run_spec.h"

namespace shardsim {

// Ranks along an axis of either grid.
[[nodiscard]] std::int64_t axis_size(const ParallelSpec& parallel, Axis axis);

// The axes of the experts' grid, fastest first.
[[nodiscard]] std::array<Axis, 4> expert_order(const ParallelSpec& parallel);

// Whether both grids have the same pipeline groups, as experts need.
[[nodiscard]] bool grids_agree(const ParallelSpec& parallel);

using Coordinates = std::array<std::int32_t, kAxisCount>;  // by Axis

class RankGrid {
 public:
  // REQUIRES: etp * ep divides tp * cp * dp.
  explicit RankGrid(const ParallelSpec& parallel);

  [[nodiscard]] std::int32_t ranks() const { return ranks_; }
  [[nodiscard]] std::int32_t size(Axis axis) const {
    return sizes_[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] std::int32_t group_size(AxisSet axes) const;
  [[nodiscard]] std::int32_t group_count(AxisSet axes) const { return ranks_ / group_size(axes); }

  [[nodiscard]] Coordinates coordinates(Rank rank) const;             // of the dense grid, others 0
  [[nodiscard]] std::int32_t coordinate(Rank rank, Axis axis) const;  // of either grid
  [[nodiscard]] Rank rank_at(const Coordinates& coordinates) const;   // REQUIRES: dense coordinates

  // Group number of a rank (0 .. group_count-1), its place in the group, and the group's members in
  // rising rank order. REQUIRES: the axes belong to one grid. Place order and member order agree.
  [[nodiscard]] std::int32_t group_of(Rank rank, AxisSet axes) const;
  [[nodiscard]] std::int32_t place_in_group(Rank rank, AxisSet axes) const;
  [[nodiscard]] std::vector<Rank> members(std::int32_t group, AxisSet axes) const;

  // The rank of the stage `offset` further along pp (modulo pp), other coordinates equal.
  [[nodiscard]] Rank stage_neighbour(Rank rank, std::int32_t offset) const;

 private:
  [[nodiscard]] std::int32_t place(Rank rank, std::span<const Axis> order, AxisSet axes) const;
  [[nodiscard]] std::span<const Axis> order_of(AxisSet axes) const;

  std::array<std::int32_t, kAxisCount> sizes_{};
  std::array<std::int32_t, kAxisCount> strides_{};  // pp: of the dense grid
  std::array<Axis, 4> dense_{};                     // fastest first
  std::array<Axis, 4> expert_{};
  std::int32_t ranks_ = 1;
};

}  // namespace shardsim
