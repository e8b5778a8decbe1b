// Coupled flows against hand calculation: one flow loads each link of its lane by a weight, rates
// are max-min fair. Capacities in GB/s and amounts in GB below, so times are in seconds.
#include "fold/fold.h"
#include "lowering/lowering.h"
#include "replay/replay.h"
#include "support/catch.h"
#include "support/hand_job.h"

namespace shardsim {
namespace {

inline constexpr double kGB = 1e9;

// End of the last operation of each rank.
std::vector<double> ends(const HandJob& job) {
  check_lowered(job.lowered);
  const Folded folded = fold(job.lowered, FoldMode::off);
  check_folded(folded);
  const Trace trace = replay_in_child(folded);
  std::vector<double> result;
  for (const TraceRank& rank : trace.ranks) {
    result.push_back(rank.end_s.back());
  }
  return result;
}

TEST_CASE("coupled flow: a ring goes at the pace of its slowest link") {
  // 128 links of 1 GB/s, one of them at half: 1 GB takes 1 / 0.5 s.
  HandJob job;
  std::vector<LinkUse> ring;
  for (int i = 0; i < 128; ++i) {
    ring.push_back({.link = job.add_link(i == 77 ? 0.5 * kGB : kGB)});
  }
  job.add_lone_flow(ring, kGB);
  CHECK(ends(job) == std::vector{2.0});
}

TEST_CASE("coupled flow: a link crossed w times gives a w-th of its capacity") {
  // Paces 1/1, 4/3, 5/8 GB/s: the last is the least.
  HandJob job;
  job.add_link(1 * kGB);
  job.add_link(4 * kGB);
  job.add_link(5 * kGB);
  job.add_lone_flow({{0, 1}, {1, 3}, {2, 8}}, kGB);
  CHECK(ends(job).front() == Approx(1.6).epsilon(1e-14));
}

TEST_CASE("coupled flow: two rings of weights 1 and 2 share a link at equal rates") {
  // x + 2x = 1: x = 1/3 each. The second (0.5 GB) ends at 1.5 s; the first has moved 0.5 GB by
  // then and moves the other 0.5 GB alone at 1 GB/s.
  HandJob job;
  job.add_link(kGB);
  job.add_lone_flow({{0, 1}}, kGB);
  job.add_lone_flow({{0, 2}}, 0.5 * kGB);
  const auto end = ends(job);
  CHECK(end[0] == Approx(2.0).epsilon(1e-12));
  CHECK(end[1] == Approx(1.5).epsilon(1e-12));
}

TEST_CASE("coupled flow: what one ring cannot use, the other takes") {
  // The first is held to 0.25 by its own link; the second gets (1 - 0.25) / 2 = 0.375.
  // 1 / 0.25 = 4 s; 0.75 / 0.375 = 2 s.
  HandJob job;
  job.add_link(kGB);
  job.add_link(0.25 * kGB);
  job.add_lone_flow({{0, 1}, {1, 1}}, kGB);
  job.add_lone_flow({{0, 2}}, 0.75 * kGB);
  const auto end = ends(job);
  CHECK(end[0] == Approx(4.0).epsilon(1e-12));
  CHECK(end[1] == Approx(2.0).epsilon(1e-12));
}

TEST_CASE("coupled flow: three flows over three links") {
  // a on l0 l1 l2, p on l0, c on l1 (weight 3) and l2. l1: a + 3c = 1 gives a = c = 0.25, then
  // l0: p = 0.75. c (0.5 GB) and p (1.5 GB) end at 2 s; a has 0.5 of 1 GB left and takes 0.5 s.
  HandJob job;
  for (int i = 0; i < 3; ++i) {
    job.add_link(kGB);
  }
  job.add_lone_flow({{0, 1}, {1, 1}, {2, 1}}, kGB);
  job.add_lone_flow({{0, 1}}, 1.5 * kGB);
  job.add_lone_flow({{1, 3}, {2, 1}}, 0.5 * kGB);
  const auto end = ends(job);
  CHECK(end[0] == Approx(2.5).epsilon(1e-12));
  CHECK(end[1] == Approx(2.0).epsilon(1e-12));
  CHECK(end[2] == Approx(2.0).epsilon(1e-12));
}

TEST_CASE("coupled flow: latency comes before the bytes and takes no bandwidth") {
  // Software latency 1 s + 4 hops of 0.25 s, then 1 GB at 1 GB/s; the other flow (2 GB) has the
  // link alone for 2 s and is done when the first starts to move: 2 and 3 s.
  HandJob job;
  job.add_link(kGB);
  const LaneId slow = job.add_lane({{0, 1}}, 0.25);
  job.add_rank(
      job.add_program({{.stream = Stream::dp, .seconds = 1, .slot = 0, .amount = kGB, .steps = 4}}),
      {slow});
  job.add_lone_flow({{0, 1}}, 2 * kGB);
  const auto end = ends(job);
  CHECK(end[0] == Approx(3.0).epsilon(1e-12));
  CHECK(end[1] == Approx(2.0).epsilon(1e-12));
}

TEST_CASE("coupled flow: sizes from bytes to terabytes in one job keep their ratio") {
  // 3 B and 3 TB share a 3 GB/s link: 1.5 GB/s each until the small one ends at 2 ns; then the
  // rest of 3e12 - 3 B: 2 ns + (3e12 - 3) / 3e9 s.
  HandJob job;
  job.add_link(3 * kGB);
  job.add_lone_flow({{0, 1}}, 3.0);
  job.add_lone_flow({{0, 1}}, 3e12);
  const auto end = ends(job);
  CHECK(end[0] == Approx(2e-9).epsilon(1e-3));
  CHECK(end[1] == Approx(1000.000000001).epsilon(1e-13));
}

}  // namespace
}  // namespace shardsim
