// Coalescing by hand: where chains begin, where they are cut, and the times that stay.
#include "fold/coalesce.h"

#include "fold/fold.h"
#include "replay/replay.h"
#include "support/catch.h"
#include "support/hand_job.h"

namespace shardsim {
namespace {

// A flow of so many seconds on a link of 1 GB/s that it has to itself.
HandOp alone(std::int32_t slot, double seconds, std::vector<std::int32_t> deps) {
  return flow(slot, seconds * 1e9, std::move(deps), Stream::tp);
}

// A kernel that begins a pass once everything before it has ended.
HandOp begin(double seconds) {
  HandOp op = kernel(seconds);
  op.join = static_cast<StreamMask>(mask(Stream::tp) | mask(Stream::host));
  return op;
}

std::vector<LoweredOp> parts_of(const Folded& folded, std::int32_t program) {
  std::vector<LoweredOp> parts;
  const std::int32_t from = at(folded.programs, program).passes.front().pass_template;
  for (const LoweredOp& op : at(folded.templates, from).ops) {
    if (op.part >= 0) {
      parts.push_back(op);
    }
  }
  return parts;
}

double step_of(const Folded& folded) { return replay_in_child(folded).step_s; }

TEST_CASE("coalesce: a pass whose lane nothing contends is one timer") {
  // 2 s, 1 s on the lane, 3 s: 6 s a pass. The lane is idle before the compute stream, and
  // whatever waits for it waits for both.
  HandJob job;
  const LaneId lane = job.add_lane({{job.add_link(1e9), 1}});
  job.add_rank(job.add_program({begin(2), alone(0, 1, {0}), kernel(3, {1})}, 4), {lane});
  const Folded coalesced = coalesce(fold(job.lowered));
  check_folded(coalesced);
  const std::vector<LoweredOp> parts = parts_of(coalesced, 0);
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].duration.value() == 6);
  CHECK(parts[0].stream == Stream::compute);
  CHECK(parts[0].stands_on == mask(Stream::tp));
  const Trace trace = replay_in_child(coalesced);
  CHECK(trace.step_s == 24);
  CHECK(trace.counts.timers == 4);
}

TEST_CASE("coalesce: a chain is cut where something outside waits for its middle") {
  // The dp flow of 1 GB shares its link with another rank's: it starts at the end of the first
  // kernel, 2 s, and both flows take 2 s at half the link each.
  HandJob job;
  const LinkId shared = job.add_link(1e9);
  const std::int32_t program =
      job.add_program({begin(2), flow(1, 1e9, {0}), alone(0, 1, {0}), kernel(3, {2})});
  for (int rank = 0; rank < 2; ++rank) {
    const LaneId own = job.add_lane({{job.add_link(1e9), 1}});
    job.add_rank(program, {own, job.add_lane({{shared, 1}})}, rank == 0 ? 1.0 : 1.0 + 1e-9);
  }
  const Folded coalesced = coalesce(fold(job.lowered));
  const std::vector<LoweredOp> parts = parts_of(coalesced, 0);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].duration.value() == 2);
  CHECK(parts[1].duration.value() == 4);
  const Trace trace = replay_in_child(coalesced);
  CHECK(trace.step_s == Approx(6));
  CHECK(trace.counts.flows == 2);
  for (const TraceTemplate& from : trace.templates) {
    for (std::size_t i = 0; i < from.ops.size(); ++i) {
      if (from.ops[i].is_flow) {
        CHECK(trace.ranks[0].start_s[i] == Approx(2));
        CHECK(trace.ranks[0].end_s[i] == Approx(4));
      }
    }
  }
}

TEST_CASE("coalesce: a flow in flight after the last kernel is a part of its own") {
  // Kernel 0-2, flow 2-3; the next pass waits for both: 3-5 and 5-6.
  HandJob job;
  const LaneId lane = job.add_lane({{job.add_link(1e9), 1}});
  job.add_rank(job.add_program({begin(2), alone(0, 1, {0})}, 2), {lane});
  const Folded coalesced = coalesce(fold(job.lowered));
  const std::vector<LoweredOp> parts = parts_of(coalesced, 0);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].stream == Stream::compute);
  CHECK(parts[0].duration.value() == 2);
  CHECK(parts[1].stream == kNoStream);
  CHECK(parts[1].duration.value() == 1);
  CHECK(parts[1].stands_on == mask(Stream::tp));
  CHECK(step_of(coalesced) == 6);
}

TEST_CASE("coalesce: a flow that the next pass does not wait for does not hold it up") {
  // Kernels at 0-2 and 2-4, flows at 2-3 and 4-5. Were a chain to end with its stream, 6 s.
  HandJob job;
  const LaneId lane = job.add_lane({{job.add_link(1e9), 1}});
  job.add_rank(job.add_program({kernel(2), alone(0, 1, {0})}, 2), {lane});
  CHECK(step_of(coalesce(fold(job.lowered))) == 5);
}

TEST_CASE("coalesce: a flow that contends begins a chain of its own where it is waited for") {
  // A gather of 1 GB at 1 GB/s shared by two ranks: 2 s. Kernel 0-1, flow 1-2, then the gather's
  // waiter at 2, flow 3-4, kernel 4-5.
  HandJob job;
  const LinkId shared = job.add_link(1e9);
  const std::int32_t program =
      job.add_program({flow(1, 1e9), begin(1), alone(0, 1, {1}), kernel(1, {0, 2}),
                       alone(0, 1, {3}), kernel(1, {4})});
  for (int rank = 0; rank < 2; ++rank) {
    const LaneId own = job.add_lane({{job.add_link(1e9), 1}});
    job.add_rank(program, {own, job.add_lane({{shared, 1}})}, rank == 0 ? 1.0 : 1.0 + 1e-9);
  }
  const Folded coalesced = coalesce(fold(job.lowered));
  CHECK(coalesced.chains.size() == 4);  // two of each rank
  CHECK(step_of(coalesced) == Approx(5));
}

TEST_CASE("coalesce: ranks that meet on a lane run in lockstep from their first meeting") {
  // The slow rank takes 2 s where the other takes 1: meet at 2, flow to 3, kernels to 4 and 5, flow
  // to 6, kernels to 7 and 8.
  HandJob job;
  const LaneId lane = job.add_lane({{job.add_link(1e9), 1}});
  const std::int32_t program = job.add_program(
      {kernel(1), alone(0, 1, {0}), kernel(1, {1}), alone(0, 1, {2}), kernel(1, {3})});
  job.add_rank(program, {lane});
  job.add_rank(program, {lane}, 0.5);
  const Folded coalesced = coalesce(fold(job.lowered));
  check_folded(coalesced);
  REQUIRE(coalesced.chains.size() == 1);
  CHECK(coalesced.domains.size() == 1);
  const Chain& chain = coalesced.chains[0];  // from the end of the first flow, at 3 s
  CHECK(chain.ranks[0].start_s == std::vector<double>{0, 1, 3});
  CHECK(chain.ranks[0].end_s == std::vector<double>{1, 3, 4});
  CHECK(chain.ranks[1].start_s == std::vector<double>{0, 2, 3});
  CHECK(chain.ranks[1].end_s == std::vector<double>{2, 3, 5});
  CHECK(step_of(coalesced) == 8);
  CHECK(step_of(fold(job.lowered)) == 8);
}

TEST_CASE(
    "coalesce: a chain goes on beside a timer that surely ends in time, not beside a longer") {
  // A gather ends at 2 s; what follows it starts no earlier than the host's timer does, at 1 s. The
  // last kernel comes 2 s after the gather: a timer of 1 s is surely over then, one of 9 s is not.
  for (const double host : {1.0, 9.0}) {
    HandJob job;
    const LinkId shared = job.add_link(1e9);
    HandOp timer = kernel(host, {0});
    timer.stream = Stream::host;
    const std::int32_t program = job.add_program(
        {begin(1), timer, flow(1, 1e9), kernel(1, {2}), alone(0, 1, {3}), kernel(1, {1, 4})});
    for (int rank = 0; rank < 2; ++rank) {
      const LaneId own = job.add_lane({{job.add_link(1e9), 1}});
      job.add_rank(program, {own, job.add_lane({{shared, 1}})}, rank == 0 ? 1.0 : 1.0 + 1e-9);
    }
    const Folded folded = fold(job.lowered);
    const Folded coalesced = coalesce(folded);
    REQUIRE(coalesced.chains.size() == 4);
    CHECK(coalesced.chains[1].ranks[0].end_s.size() == (host == 1.0 ? 3 : 2));
    CHECK(step_of(coalesced) == Approx(host == 1.0 ? 5 : 11));
    CHECK(step_of(folded) == Approx(host == 1.0 ? 5 : 11));
  }
}

TEST_CASE("coalesce: a chain that nothing waits for still moves its bytes") {
  // Two flows of 1 s on lanes of their own, begun before a kernel of 9 s that ends the pass:
  // whoever waits for them later waits for the kernel as well.
  HandJob job;
  const LinkId link = job.add_link(1e9);
  HandOp first = flow(0, 1e9, {0});
  first.join = mask(Stream::tp);
  const std::int32_t program = job.add_program({begin(1), first, flow(0, 1e9, {1}), kernel(9)});
  job.add_rank(program, {job.add_lane({{link, 1}})});
  const Folded folded = fold(job.lowered);
  const Trace detailed = replay_in_child(folded);
  const Trace coalesced = replay_in_child(coalesce(folded));
  CHECK(detailed.links[0].bytes == 2e9);
  CHECK(coalesced.links[0].bytes == 2e9);
  CHECK(coalesced.step_s == 10);
}

}  // namespace
}  // namespace shardsim
