// The grid of ranks: coordinates along tp, cp, dp, pp and the process groups they define.
//
// The order string lists axes fastest first (Megatron's default tp-cp-ep-dp-pp; parallel_state.py).
// Everything is arithmetic on strides; nothing is tabulated per pair.
//   tp 4, cp 2, 8 ranks: cp groups {0,4} {1,5} {2,6} {3,7}
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "sharding/primitive.h"
#include "spec/run_spec.h"

namespace shardsim {

using Coordinates = std::array<std::int32_t, kAxisCount>;  // by Axis

class RankGrid {
 public:
  // The dense grid: ep is dropped from the order (size 1 here).
  explicit RankGrid(const ParallelSpec& parallel);

  [[nodiscard]] std::int32_t ranks() const { return ranks_; }
  [[nodiscard]] std::int32_t size(Axis axis) const {
    return sizes_[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] std::int32_t group_size(AxisSet axes) const;
  [[nodiscard]] std::int32_t group_count(AxisSet axes) const { return ranks_ / group_size(axes); }

  [[nodiscard]] Coordinates coordinates(Rank rank) const;
  [[nodiscard]] std::int32_t coordinate(Rank rank, Axis axis) const;
  [[nodiscard]] Rank rank_at(const Coordinates& coordinates) const;

  // Group number of a rank (0 .. group_count-1), its place in the group, and the group's members in
  // rising rank order. REQUIRES: place order and member order agree.
  [[nodiscard]] std::int32_t group_of(Rank rank, AxisSet axes) const;
  [[nodiscard]] std::int32_t place_in_group(Rank rank, AxisSet axes) const;
  [[nodiscard]] std::vector<Rank> members(std::int32_t group, AxisSet axes) const;

  // The rank of the stage `offset` further along pp (modulo pp), other coordinates equal.
  [[nodiscard]] Rank stage_neighbour(Rank rank, std::int32_t offset) const;

 private:
  std::array<std::int32_t, kAxisCount> sizes_{};
  std::array<std::int32_t, kAxisCount> strides_{};
  std::array<Axis, kAxisCount> order_{};
  std::int32_t ranks_ = 1;
};

}  // namespace shardsim
