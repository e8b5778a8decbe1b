// The event loop: streams, joins, arrivals, errors, and the child process.
#include "replay/replay.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.h"
#include "fold/fold.h"
#include "support/catch.h"
#include "support/hand_job.h"

namespace shardsim {
namespace {

using Catch::Contains;

Trace run(const HandJob& job, FoldMode mode = FoldMode::off) {
  const Folded folded = fold(job.lowered, mode);
  check_folded(folded);
  return replay_in_child(folded);
}

// ---- bad input

TEST_CASE("replay: work that cannot start is named") {
  // Each rank first waits for the message that the other sends last.
  HandJob job;
  const LaneId there = job.add_lane({});
  const LaneId back = job.add_lane({});
  const std::int32_t first = job.add_program({flow(0, 1), flow(1, 1)});
  const std::int32_t second = job.add_program({flow(0, 1), flow(1, 1)});
  job.add_rank(first, {there, back});
  job.add_rank(second, {back, there});
  CHECK_THROWS_AS(run(job), InternalError);
  CHECK_THROWS_WITH(run(job),
                    Contains("4 operations never ended") &&
                        Contains("rank 0 operation 0 of micro batch 0 waits for its peers") &&
                        Contains("rank 1 operation 0"));
}

TEST_CASE("replay: members that use a lane differently are refused before the replay") {
  HandJob job;
  const LaneId lane = job.add_lane({});
  job.add_rank(job.add_program({flow(0, 1)}), {lane});
  job.add_rank(job.add_program({flow(0, 2)}), {lane});
  CHECK_THROWS_WITH(check_folded(fold(job.lowered, FoldMode::off)),
                    Contains("ranks 0 (1 flows) and 1 (1 flows) use lane 0 differently"));
}

TEST_CASE("replay: a second replay in one process is refused") {
  HandJob job;
  job.add_rank(job.add_program({kernel(1)}));
  const Folded folded = fold(job.lowered, FoldMode::off);
  const pid_t child = ::fork();
  if (child == 0) {
    bool refused = false;
    const Trace first = replay(folded);
    try {
      const Trace second = replay(folded);
    } catch (const InternalError&) {
      refused = true;
    }
    ::_exit(refused && first.step_s == 1.0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}

// ---- order of operations

TEST_CASE("replay: a stream is first in, first out, also across passes") {
  HandJob job;
  job.add_rank(job.add_program({kernel(1), kernel(2)}, 3));
  const Trace trace = run(job);
  CHECK(trace.ranks[0].start_s == std::vector<double>{0, 1, 3, 4, 6, 7});
  CHECK(trace.ranks[0].end_s == std::vector<double>{1, 3, 4, 6, 7, 9});
  CHECK(trace.step_s == 9);
  CHECK(trace.counts.timers == 6);
  CHECK(trace.programs[0].passes[2].first_op == 4);
}

TEST_CASE("replay: deps hold across streams and a join waits for all of a stream") {
  // compute: a 1 s, b 1 s; tp: t 5 s after a; compute: c 1 s joins tp. c starts at 6, not at 2.
  HandJob job;
  const HandOp timer_on_tp{.stream = Stream::tp, .seconds = 5, .deps = {0}};
  job.add_rank(job.add_program(
      {kernel(1), timer_on_tp, kernel(1), {.seconds = 1, .join = mask(Stream::tp)}}));
  const Trace trace = run(job);
  CHECK(trace.ranks[0].start_s == std::vector<double>{0, 1, 1, 6});
}

TEST_CASE("replay: a join reaches into earlier passes") {
  // Pass: kernel 1 s that joins dp, then dp 3 s after it: the next pass waits for it.
  HandJob job;
  job.add_rank(job.add_program(
      {{.seconds = 1, .join = mask(Stream::dp)}, {.stream = Stream::dp, .seconds = 3, .deps = {0}}},
      2));
  const Trace trace = run(job);
  CHECK(trace.ranks[0].start_s == std::vector<double>{0, 1, 4, 5});
}

TEST_CASE("replay: a slow GPU lengthens kernels, not the host's work") {
  HandJob job;
  job.add_rank(job.add_program({kernel(1), {.stream = Stream::host, .seconds = 1, .deps = {0}}}),
               {}, 0.5);
  CHECK(run(job).ranks[0].end_s == std::vector<double>{2, 3});
}

TEST_CASE("replay: a collective starts when its last member arrives") {
  // Members arrive at 1 and 3 s; 2 GB over 1 GB/s: both end at 5. The start is each one's arrival.
  HandJob job;
  job.add_link(1e9);
  const LaneId lane = job.add_lane({{0, 1}});
  job.add_rank(job.add_program({kernel(1), flow(0, 2e9, {0})}), {lane});
  job.add_rank(job.add_program({kernel(3), flow(0, 2e9, {0})}), {lane});
  const Trace trace = run(job);
  CHECK(trace.ranks[0].start_s == std::vector<double>{0, 1});
  CHECK(trace.ranks[1].start_s == std::vector<double>{0, 3});
  CHECK(trace.ranks[0].end_s[1] == 5);
  CHECK(trace.ranks[1].end_s[1] == 5);
  CHECK(trace.counts.flows == 0);  // nobody else uses the link: a timer is exact
}

TEST_CASE("replay: two uses of one lane in flight at once share its links") {
  // The same lane from two streams: 1 GB each at 0.5 GB/s.
  HandJob job;
  job.add_link(1e9);
  const LaneId lane = job.add_lane({{0, 1}});
  job.add_rank(job.add_program({flow(0, 1e9), flow(0, 1e9, {}, Stream::tp)}), {lane});
  const Trace trace = run(job);
  CHECK(trace.ranks[0].end_s[0] == Approx(2.0));
  CHECK(trace.ranks[0].end_s[1] == Approx(2.0));
  CHECK(trace.counts.flows == 2);
}

TEST_CASE("replay: operations without duration do not recurse") {
  HandJob job;
  job.add_rank(job.add_program(std::vector<HandOp>(1000, kernel(0)), 1000));
  const Trace trace = run(job);
  CHECK(trace.step_s == 0);
  CHECK(trace.counts.timers == 0);
}

TEST_CASE("replay: bytes and users of links come from the unsimplified loads") {
  // A ring crosses link 0 three times with 1 GB per channel; link 1 cannot bind and still counts.
  HandJob job;
  job.add_link(1e9);
  job.add_link(9e9, false);
  const LaneId lane = job.add_lane({{0, 3}, {1, 2}});
  job.add_rank(job.add_program({flow(0, 1e9)}, 2), {lane});
  const Trace trace = run(job);
  REQUIRE(trace.links.size() == 2);
  CHECK(trace.links[0].bytes == 6e9);
  CHECK(trace.links[1].bytes == 4e9);
  CHECK(trace.links[0].users[0].group == "dp");
  CHECK(trace.links[0].name == "link 0");
  CHECK(trace.lanes[0].bound_link == 0);
  CHECK(trace.lanes[0].pace_alone_Bps == Approx(1e9 / 3));
}

// ---- the child process

TEST_CASE("replay: a child gives the same times as the process itself") {
  HandJob job;
  job.add_link(1e9);
  const LaneId a = job.add_lane({{0, 1}});
  const LaneId b = job.add_lane({{0, 2}});
  const std::int32_t program = job.add_program({kernel(0.1), flow(0, 1e8, {0}), kernel(0.3)}, 5);
  job.add_rank(program, {a});
  job.add_rank(program, {b}, 0.7);
  const Folded folded = fold(job.lowered, FoldMode::off);
  const Trace from_child = replay_in_child(folded);
  const pid_t child = ::fork();
  if (child == 0) {
    const Trace here = replay(folded);
    bool same = here.step_s == from_child.step_s;
    for (std::size_t i = 0; i < here.ranks.size(); ++i) {
      same = same && here.ranks[i].start_s == from_child.ranks[i].start_s &&
             here.ranks[i].end_s == from_child.ranks[i].end_s;
    }
    ::_exit(same ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("replay: many children at a time keep apart") {
  std::vector<Folded> jobs;
  for (int i = 1; i <= 20; ++i) {
    HandJob job;
    job.add_rank(job.add_program({kernel(i)}, 2000));
    jobs.push_back(fold(job.lowered, FoldMode::off));
  }
  std::vector<ReplayChild> children;
  for (const Folded& job : jobs) {
    children.push_back(start_replay(job));
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    CHECK(finish_replay(children[i], jobs[i]).step_s == 2000.0 * static_cast<double>(i + 1));
  }
}

}  // namespace
}  // namespace shardsim
