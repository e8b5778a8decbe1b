// Folding by hand: classes, loads, rows.
#include "fold/fold.h"

#include "base/errors.h"
#include "fold/rows.h"
#include "replay/replay.h"
#include "support/catch.h"
#include "support/hand_job.h"

namespace shardsim {
namespace {

using Catch::Contains;

// Four equal programs "kernel; send to the next; receive from the one before", rank 0 twice as
// slow.
HandJob ring_of_messages() {
  HandJob job;
  const std::int32_t program = job.add_program({kernel(1), flow(0, 0, {0}, Stream::pp_send_forward),
                                                flow(1, 0, {}, Stream::pp_recv_forward)});
  job.lowered.templates[0].ops[1].duration = Seconds{0.1};
  job.lowered.templates[0].ops[2].duration = Seconds{0.1};
  for (int i = 0; i < 4; ++i) {
    job.add_lane({});
  }
  for (std::int32_t i = 0; i < 4; ++i) {
    job.add_rank(program, {i, (i + 3) % 4}, i == 0 ? 0.5 : 1.0);
  }
  return job;
}

double finish(const Trace& trace, const Folded& folded, Rank rank) {
  double last = 0;
  for (const double end : at(trace.ranks, at(folded.class_of_rank, rank)).end_s) {
    last = std::max(last, end);
  }
  return last;
}

// ---- bad input

TEST_CASE("fold: a partition that forgets the slots of a lane's members is refused") {
  // Without slot labels ranks 1 and 3 look alike: both share lanes with rank 0 and rank 2.
  const HandJob job = ring_of_messages();
  CHECK_THROWS_AS(
      check_partition(job.lowered, {.ranks = {0, 1, 2, 1}, .lanes = {0, 1, 1, 0}, .links = {}}),
      InternalError);
}

TEST_CASE("fold: refinement without edge labels is caught, and would give wrong times") {
  const HandJob job = ring_of_messages();
  const Partition broken = refine(job.lowered, EdgeLabels::dropped);
  CHECK(broken.ranks[1] == broken.ranks[3]);
  CHECK_THROWS_AS(check_partition(job.lowered, broken), InternalError);
  // Rank 3 does not wait for the slow rank 0, but the class of rank 1 does: 2.1 instead of 1.1.
  const Folded folded = quotient(job.lowered, broken);
  CHECK(finish(replay_in_child(folded), folded, 3) == Approx(2.1));
}

TEST_CASE("fold: two unequal classes merged are caught") {
  const HandJob job = ring_of_messages();
  Partition merged = refine(job.lowered);
  REQUIRE(merged.ranks == std::vector<std::int32_t>{0, 1, 2, 3});
  merged.ranks = {0, 1, 2, 2};
  CHECK_THROWS_AS(check_partition(job.lowered, merged), InternalError);
}

TEST_CASE("fold: a partition of unequal links is refused") {
  HandJob job;
  job.add_link(1e9);
  job.add_link(2e9);
  job.add_lone_flow({{0, 1}, {1, 1}}, 1e9);
  CHECK_THROWS_WITH(check_partition(job.lowered, {.ranks = {0}, .lanes = {0}, .links = {0, 0}}),
                    Contains("link 1 is not like its representative"));
}

// ---- classes

TEST_CASE("fold: sending to a slow rank is not receiving from one") {
  // Rank 0 ends its kernel at 2, the others at 1; a message takes 0.1 s once both are there.
  const HandJob job = ring_of_messages();
  const Folded folded = fold(job.lowered);
  check_folded(folded);
  const Trace trace = replay_in_child(folded);
  CHECK(finish(trace, folded, 0) == Approx(2.1));
  CHECK(finish(trace, folded, 1) == Approx(2.1));
  CHECK(finish(trace, folded, 2) == Approx(1.1));
  CHECK(finish(trace, folded, 3) == Approx(1.1));
}

TEST_CASE("fold: equal ranks become one, and a folded lane waits for each kind of member once") {
  HandJob job;
  const std::int32_t program = job.add_program({kernel(1), flow(0, 1e9, {0})});
  for (int ring = 0; ring < 3; ++ring) {
    const LinkId link = job.add_link(1e9);
    const LaneId lane = job.add_lane({{link, 1}});
    job.add_rank(program, {lane});
    job.add_rank(program, {lane});
  }
  const Folded folded = fold(job.lowered);
  check_folded(folded);
  CHECK(folded.ranks.size() == 1);
  CHECK(folded.ranks[0].size == 6);
  CHECK(folded.lanes.size() == 1);
  CHECK(folded.lanes[0].member_count == 1);
  CHECK(folded.links.size() == 1);
  CHECK(folded.links[0].size == 3);
  const Trace trace = replay_in_child(folded);
  CHECK(trace.step_s == Approx(2.0));
  CHECK(trace.counts.ranks == 6);
  CHECK(trace.counts.rank_classes == 1);
}

TEST_CASE("fold: a class loads a shared link with all its lanes") {
  // Three equal flows of 1 GB over one link of 1 GB/s: each at a third, 3 s. Alone, 1 GB/s.
  HandJob job;
  job.add_link(1e9);
  const std::int32_t program = job.add_program({flow(0, 1e9)});
  for (int i = 0; i < 3; ++i) {
    job.add_rank(program, {job.add_lane({{0, 1}})});
  }
  const Folded folded = fold(job.lowered);
  CHECK(folded.ranks.size() == 1);
  CHECK(folded.loads[0].weight == 3);
  CHECK(folded.lanes[0].pace_alone.value() == 1e9);
  CHECK(replay_in_child(folded).step_s == Approx(3.0));
}

TEST_CASE("fold: links that cannot bind do not tell ranks apart") {
  // Two of the three lanes share an uplink that the topology calls redundant.
  HandJob job;
  const std::int32_t program = job.add_program({flow(0, 1e9)});
  const LinkId uplink = job.add_link(9e9, false);
  const LinkId other = job.add_link(9e9, false);
  for (int i = 0; i < 3; ++i) {
    const LinkId own = job.add_link(1e9);
    const LinkId shared = i < 2 ? uplink : other;
    job.add_rank(program, {job.add_lane({{shared, 1}, {own, 1}})});
  }
  const Folded folded = fold(job.lowered);
  CHECK(folded.ranks.size() == 1);
  CHECK(folded.links.size() == 3);  // the two uplinks carry different loads: two classes
  CHECK(folded.rows.size() == 1);
}

TEST_CASE("fold: speed, capacity and latency tell apart") {
  HandJob job;
  const std::int32_t program = job.add_program({flow(0, 1e9)});
  job.add_rank(program, {job.add_lane({{job.add_link(1e9), 1}})});
  job.add_rank(program, {job.add_lane({{job.add_link(2e9), 1}})});
  job.add_rank(program, {job.add_lane({{job.add_link(1e9), 1}}, 1e-6)});
  job.add_rank(program, {job.add_lane({{job.add_link(1e9), 1}})}, 0.5);
  CHECK(fold(job.lowered).ranks.size() == 4);
}

// ---- rows

Rows rows(const std::vector<std::pair<double, std::vector<RowEntry>>>& given) {
  Rows result;
  for (const auto& [capacity, entries] : given) {
    result.rows.push_back({.link_class = count(result.rows),
                           .capacity_Bps = capacity,
                           .first = count(result.entries),
                           .entry_count = count(entries)});
    result.entries.insert(result.entries.end(), entries.begin(), entries.end());
  }
  return result;
}

std::vector<std::int32_t> kept(const Rows& simplified) {
  std::vector<std::int32_t> links;
  for (const Row& row : simplified.rows) {
    links.push_back(row.link_class);
  }
  return links;
}

TEST_CASE("rows: a common divisor of the weights goes into the capacity") {
  const Rows simple = simplify(rows({{12, {{0, 4}, {1, 6}}}}), 2);
  CHECK(simple.rows[0].capacity_Bps == 6);
  CHECK(simple.entries[0].weight == 2);
  CHECK(simple.entries[1].weight == 3);
}

TEST_CASE("rows: what another row implies is dropped, of equal rows the first stays") {
  // x <= 2 is implied by x + y <= 1; twice the same row; 2x <= 2 is x <= 1, implied as well.
  CHECK(kept(simplify(rows({{2, {{0, 1}}}, {1, {{0, 1}, {1, 1}}}}), 2)) == std::vector{1});
  CHECK(kept(simplify(rows({{1, {{0, 1}}}, {1, {{0, 1}}}, {2, {{0, 2}}}}), 1)) == std::vector{0});
}

TEST_CASE("rows: a row that can bind stays") {
  // x <= 0.5 binds before x + y <= 1, which binds for y.
  CHECK(kept(simplify(rows({{0.5, {{0, 1}}}, {1, {{0, 1}, {1, 1}}}}), 2)) == std::vector{0, 1});
  // x + 3y <= 3 and 3x + y <= 3 do not imply each other.
  CHECK(kept(simplify(rows({{3, {{0, 1}, {1, 3}}}, {3, {{0, 3}, {1, 1}}}}), 2)) ==
        std::vector{0, 1});
}

TEST_CASE("rows: of a ring over many equal links one row stays") {
  std::vector<std::pair<double, std::vector<RowEntry>>> ring(1000, {5.0, {{0, 1}}});
  CHECK(kept(simplify(rows(ring), 1)) == std::vector{0});
}

}  // namespace
}  // namespace shardsim
