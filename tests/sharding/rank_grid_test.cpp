#include "sharding/rank_grid.h"

#include <algorithm>
#include <set>

#include "base/errors.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

ParallelSpec layout(std::int64_t tp, std::int64_t cp, std::int64_t dp, std::int64_t pp) {
  ParallelSpec parallel;
  parallel.tp = tp;
  parallel.cp = cp;
  parallel.dp = dp;
  parallel.pp = pp;
  return parallel;
}

}  // namespace

TEST_CASE("rank_grid: an order that names an axis twice is refused") {
  ParallelSpec parallel = layout(2, 1, 2, 1);
  parallel.order = {Axis::tp, Axis::tp, Axis::ep, Axis::dp, Axis::pp};
  CHECK_THROWS_AS(RankGrid(parallel), InternalError);
}

// Megatron's own example (parallel_state.py, initialize_model_parallel): 16 GPUs, tp 2, pp 4 give
// tp groups [g0,g1] [g2,g3] ..., pp groups [g0,g4,g8,g12] [g1,g5,g9,g13] ..., and dp groups
// [g0,g2] [g1,g3] [g4,g6] [g5,g7] ...
TEST_CASE("rank_grid: Megatron's 16-GPU example") {
  const RankGrid grid(layout(2, 1, 2, 4));
  CHECK(grid.ranks() == 16);
  CHECK(grid.members(0, axis_set(Axis::tp)) == std::vector<Rank>{0, 1});
  CHECK(grid.members(1, axis_set(Axis::tp)) == std::vector<Rank>{2, 3});
  CHECK(grid.members(0, axis_set(Axis::pp)) == std::vector<Rank>{0, 4, 8, 12});
  CHECK(grid.members(1, axis_set(Axis::pp)) == std::vector<Rank>{1, 5, 9, 13});
  CHECK(grid.members(0, axis_set(Axis::dp)) == std::vector<Rank>{0, 2});
  CHECK(grid.members(1, axis_set(Axis::dp)) == std::vector<Rank>{1, 3});
  CHECK(grid.members(2, axis_set(Axis::dp)) == std::vector<Rank>{4, 6});
}

TEST_CASE("rank_grid: tp 4, cp 2 give the cp groups of the header") {
  const RankGrid grid(layout(4, 2, 1, 1));
  for (std::int32_t group = 0; group < 4; ++group) {
    CHECK(grid.members(group, axis_set(Axis::cp)) == std::vector<Rank>{group, group + 4});
  }
}

TEST_CASE("rank_grid: the neighbouring stage wraps around") {
  const RankGrid grid(layout(2, 1, 1, 4));
  CHECK(grid.stage_neighbour(1, 1) == 3);
  CHECK(grid.stage_neighbour(7, 1) == 1);
  CHECK(grid.stage_neighbour(0, -1) == 6);
}

TEST_CASE("rank_grid: every group partitions the ranks, in every order of axes") {
  std::array<Axis, kOrderAxes> order{Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};
  do {
    ParallelSpec parallel = layout(3, 2, 2, 4);
    parallel.order = order;
    const RankGrid grid(parallel);
    for (AxisSet axes = 0; axes < 32; ++axes) {
      if ((axes & axis_set(Axis::ep)) != 0) {
        continue;  // of the experts' grid
      }
      std::set<Rank> seen;
      for (std::int32_t group = 0; group < grid.group_count(axes); ++group) {
        const std::vector<Rank> members = grid.members(group, axes);
        REQUIRE(std::is_sorted(members.begin(), members.end()));
        REQUIRE(count(members) == grid.group_size(axes));
        for (std::int32_t place = 0; place < count(members); ++place) {
          const Rank rank = at(members, place);
          REQUIRE(grid.group_of(rank, axes) == group);
          REQUIRE(grid.place_in_group(rank, axes) == place);
          REQUIRE(grid.rank_at(grid.coordinates(rank)) == rank);
          seen.insert(rank);
        }
      }
      REQUIRE(static_cast<std::int32_t>(seen.size()) == grid.ranks());
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("primitive: groups are named by their axes") {
  CHECK(group_name(axis_set(Axis::tp)) == "tp");
  CHECK(group_name(axis_set(Axis::dp) | axis_set(Axis::cp)) == "cp-dp");
  CHECK(group_name(0).empty());
  CHECK(name(Primitive::reduce_scatter) == "reduce_scatter");
}
