// The experts' grid etp x ep x edp x pp over the same ranks as the dense one.
#include <algorithm>

#include "base/errors.h"
#include "sharding/derive.h"
#include "sharding/moe.h"
#include "sharding/parameters.h"
#include "sharding/rank_grid.h"
#include "spec/reader.h"
#include "support/catch.h"
#include "support/moe_jobs.h"

using namespace shardsim;

namespace {

ParallelSpec layout(std::int64_t tp, std::int64_t cp, std::int64_t dp, std::int64_t pp,
                    std::int64_t etp, std::int64_t ep) {
  ParallelSpec parallel;
  parallel.tp = tp;
  parallel.sp = tp > 1;
  parallel.cp = cp;
  parallel.dp = dp;
  parallel.pp = pp;
  parallel.etp = etp;
  parallel.ep = ep;
  return parallel;
}

AxisSet set_of(std::initializer_list<Axis> axes) {
  AxisSet set = 0;
  for (const Axis axis : axes) {
    set = static_cast<AxisSet>(set | axis_set(axis));
  }
  return set;
}

std::vector<std::int64_t> sizes(const std::vector<SizedDim>& dims) {
  std::vector<std::int64_t> result;
  for (const SizedDim& dim : dims) {
    result.push_back(dim.size);
  }
  return result;
}

}  // namespace

TEST_CASE("expert grid: a grid that the ranks do not fill is an internal error") {
  CHECK_THROWS_AS(RankGrid(layout(1, 1, 6, 1, 1, 4)), InternalError);
}

TEST_CASE("expert grid: a group of axes of both grids is an internal error") {
  const RankGrid grid(layout(2, 1, 4, 1, 1, 4));
  CHECK_THROWS_AS(grid.group_size(set_of({Axis::tp, Axis::ep})), InternalError);
}

// tp 2 dp 4, ep 4: etp is 1, so ep runs over ranks 0..3, which are two tp groups; edp 2 apart by 4.
TEST_CASE("expert grid: ep crosses tp groups when etp is 1") {
  const RankGrid grid(layout(2, 1, 4, 1, 1, 4));
  CHECK(grid.size(Axis::edp) == 2);
  CHECK(grid.members(0, axis_set(Axis::ep)) == std::vector<Rank>{0, 1, 2, 3});
  CHECK(grid.members(1, axis_set(Axis::ep)) == std::vector<Rank>{4, 5, 6, 7});
  CHECK(grid.members(0, axis_set(Axis::edp)) == std::vector<Rank>{0, 4});
  CHECK(grid.members(0, axis_set(Axis::tp)) == std::vector<Rank>{0, 1});
}

// etp 2, ep 2, edp 2 of 8 ranks: etp pairs, ep 2 apart, edp 4 apart.
TEST_CASE("expert grid: etp is fastest as tp is") {
  const RankGrid grid(layout(2, 1, 4, 1, 2, 2));
  CHECK(grid.members(0, axis_set(Axis::etp)) == std::vector<Rank>{0, 1});
  CHECK(grid.members(0, axis_set(Axis::ep)) == std::vector<Rank>{0, 2});
  CHECK(grid.members(0, axis_set(Axis::edp)) == std::vector<Rank>{0, 4});
}

TEST_CASE("expert grid: groups partition the ranks and stages agree, whatever the sizes") {
  for (const std::int64_t etp : {1, 2}) {
    for (const std::int64_t ep : {1, 2, 4}) {
      for (const std::int64_t cp : {1, 2}) {
        const ParallelSpec parallel = layout(2, cp, 4, 2, etp, ep);
        REQUIRE(grids_agree(parallel));
        const RankGrid grid(parallel);
        for (const AxisSet axes : {set_of({Axis::ep}), set_of({Axis::etp, Axis::ep}),
                                   set_of({Axis::edp}), set_of({Axis::etp, Axis::ep, Axis::pp})}) {
          std::vector<Rank> all;
          for (std::int32_t group = 0; group < grid.group_count(axes); ++group) {
            for (const Rank member : grid.members(group, axes)) {
              CHECK(grid.group_of(member, axes) == group);
              all.push_back(member);
            }
          }
          std::sort(all.begin(), all.end());
          CHECK(static_cast<std::int32_t>(all.size()) == grid.ranks());
          CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
        }
      }
    }
  }
}

// pp fastest but one: stages are tp apart in the dense grid, etp in the experts'.
TEST_CASE("expert grid: pp between tp and dp needs etp = tp") {
  ParallelSpec parallel = layout(2, 1, 4, 2, 1, 2);
  parallel.order = {Axis::tp, Axis::pp, Axis::cp, Axis::ep, Axis::dp};
  CHECK_FALSE(grids_agree(parallel));
  parallel.etp = 2;
  CHECK(grids_agree(parallel));
}

// Shard(token) -> Shard(E) over ep; over etp the experts need all tokens of the group and leave
// unsummed parts. Backward is the transposed transition.
TEST_CASE("expert grid: dispatch, combine, gather and scatter are derived") {
  using enum OperatorKind;
  const ParallelSpec p = layout(2, 1, 4, 1, 2, 2);
  const auto ep = axis_set(Axis::ep);
  const auto etp = axis_set(Axis::etp);
  using D = DerivedCommunication;
  CHECK(forward_between(p, permute, expert_sort) == D{Primitive::all_to_all, ep});
  CHECK(backward_between(p, permute, expert_sort) == D{Primitive::all_to_all, ep});
  CHECK(forward_between(p, expert_sort, expert_up) == D{Primitive::all_gather, etp});
  CHECK(backward_between(p, expert_sort, expert_up) == D{Primitive::reduce_scatter, etp});
  CHECK(forward_between(p, expert_up, expert_activation) == D{});
  CHECK(forward_between(p, expert_activation, expert_down) == D{});
  CHECK(forward_between(p, expert_down, expert_unsort) == D{Primitive::reduce_scatter, etp});
  CHECK(backward_between(p, expert_down, expert_unsort) == D{Primitive::all_gather, etp});
  CHECK(forward_between(p, expert_unsort, unpermute) == D{Primitive::all_to_all, ep});
  CHECK(forward_between(p, norm, router) == D{});
  CHECK(forward_between(p, unpermute, residual) == D{});
}

// Without sp the ranks of a tp group hold the same tokens: nothing to gather, the sum stays.
TEST_CASE("expert grid: without sp experts cut by etp = tp are summed like a dense MLP") {
  using enum OperatorKind;
  ParallelSpec p = layout(2, 1, 4, 1, 2, 1);
  p.sp = false;
  const auto etp = axis_set(Axis::etp);
  using D = DerivedCommunication;
  CHECK(forward_between(p, expert_sort, expert_up) == D{});
  CHECK(backward_between(p, expert_sort, expert_up) == D{Primitive::all_reduce, etp});
  CHECK(forward_between(p, expert_down, expert_unsort) == D{Primitive::all_reduce, etp});
  CHECK(backward_between(p, expert_down, expert_unsort) == D{});
}

// 8 experts of 64 x 256, ep 4, etp 2: a rank has 2 experts with half the width.
TEST_CASE("expert grid: ep cuts E and etp cuts ffn of expert weights, dp nothing") {
  const RunSpec run = jobs::moe_job({.tp = 2, .dp = 4, .etp = 2, .ep = 4});
  const Tensor up = operator_weights(run, OperatorKind::expert_up).front();
  CHECK(sizes(up.dims) == std::vector<std::int64_t>{8, 64, 2, 256});
  CHECK(sizes(local_dims(run, up)) == std::vector<std::int64_t>{2, 64, 2, 128});
  CHECK(copies(run, up) == 1);
  const Tensor router = operator_weights(run, OperatorKind::router).front();
  CHECK(local_elements(run, router) == 64 * 8);
  CHECK(copies(run, router) == 8);
}

// Tokens of the whole job: dp 4 x micro 1 x 128, top 2: 1024 copies; ep 4 x edp 1 ranks hold 256
// each, both ranks of an etp pair the same.
TEST_CASE("expert grid: experts hold the tokens that reach them") {
  const RunSpec run = jobs::moe_job({.tp = 2, .dp = 4, .etp = 2, .ep = 4});
  for (const SavedTensor& saved : layer_saved(run, LayerKind::moe)) {
    if (saved.tensor.name == "expert input") {
      CHECK(sizes(local_dims(run, saved.tensor)) == std::vector<std::int64_t>{256, 64});
    }
    if (saved.tensor.name == "expert down input") {
      CHECK(sizes(local_dims(run, saved.tensor)) == std::vector<std::int64_t>{256, 128});
    }
  }
  CHECK(routed_tokens(run) == 128);
  CHECK(expert_tokens(run, 1.0) == 256);
}

// imbalance 2 over 4 places: 2, then (4 - 2) / 3 each.
TEST_CASE("expert load: a factor makes one hot place") {
  RunSpec run = jobs::moe_job({.dp = 4, .ep = 4});
  run.moe.imbalance = 2;
  const ExpertLoads loads = expert_loads(run);
  REQUIRE(loads.kinds.size() == 2);
  CHECK(loads.kinds[0] == 2.0);
  CHECK(loads.kinds[1] == Approx(2.0 / 3));
  CHECK(loads.kind_of_place == std::vector<std::int32_t>{0, 1, 1, 1});
  CHECK(loads.busiest == 2.0);
  CHECK(loads.dropped == Approx(0).margin(1e-12));
}

// Capacity 1: the hot experts keep the mean, the rest what they have: 1/4 + 3/4 * 2/3 = 3/4 stay.
TEST_CASE("expert load: capacity cuts the hot experts and says what it drops") {
  RunSpec run = jobs::moe_job({.dp = 4, .ep = 4});
  run.moe.imbalance = 2;
  run.model.moe->capacity_factor = 1.0;
  const ExpertLoads loads = expert_loads(run);
  CHECK(loads.busiest == 1.0);
  CHECK(loads.dropped == Approx(0.25));
}

// 8 experts on 4 places, 36 tokens: means of 9 a place: 3/9 7/9 11/9 15/9.
TEST_CASE("expert load: a file gives each place its own load") {
  RunSpec run = jobs::moe_job({.dp = 4, .ep = 4});
  run.moe.tokens_per_expert = {1, 2, 3, 4, 5, 6, 7, 8};
  const ExpertLoads loads = expert_loads(run);
  REQUIRE(loads.kinds.size() == 4);
  CHECK(loads.kinds[0] == Approx(3.0 / 9));
  CHECK(loads.kinds[3] == Approx(15.0 / 9));
  CHECK(loads.busiest == Approx(15.0 / 9));
}

// Published counts (model cards and papers), in billions to the digits published; qwen3-8b exact.
TEST_CASE("parameters: mixtures of experts and other shipped models") {
  const auto count = [](const char* name) { return count_parameters(read_model(name)); };
  const auto billions = [](std::int64_t value) { return static_cast<double>(value) / 1e9; };
  CHECK(billions(count("mixtral-8x7b").total) == Approx(46.703).margin(5e-4));
  CHECK(billions(count("mixtral-8x7b").active) == Approx(12.880).margin(5e-4));
  CHECK(billions(count("qwen3-30b-a3b").total) == Approx(30.532).margin(5e-4));
  CHECK(billions(count("qwen3-30b-a3b").active) == Approx(3.353).margin(5e-4));
  CHECK(billions(count("qwen3-235b-a22b").total) == Approx(235.094).margin(5e-4));
  CHECK(billions(count("qwen3-235b-a22b").active) == Approx(22.19).margin(5e-3));
  CHECK(billions(count("deepseek-v3").total) == Approx(671.026).margin(5e-4));
  CHECK(billions(count("deepseek-v3").active) == Approx(37.552).margin(5e-4));
  CHECK(count("qwen3-8b").total == 8'190'735'360);
  CHECK(count("qwen2.5-1.5b").total == 1'543'714'304);
  CHECK(count("gpt2-small").total == 124'439'808);
  CHECK(count("gpt2-large").total == 774'030'080);
  CHECK(count("mpt-7b").total == 6'658'859'008);
  CHECK(count("mpt-30b").total == 29'975'214'080);
  CHECK(count("mpt-70b").total == 64'862'437'376);
  CHECK(count("bloom-176b").total == 176'247'271'424);
}
