#include "analysis/analysis.h"
#include "base/errors.h"
#include "support/catch.h"
#include "support/toy_trace.h"
#include "trace/check_trace.h"

using namespace shardsim;

namespace {

constexpr Stream kCompute = Stream::compute;

// The bins named in `expected` have these values, all others are zero, and all sum to the step.
void check_bins(const Trace& trace, const Breakdown& found,
                const std::vector<std::pair<Bin, double>>& expected) {
  Breakdown wanted;
  for (const auto& [bin, seconds] : expected) {
    wanted[bin] = seconds;
  }
  for (std::size_t b = 0; b < kBinCount; ++b) {
    INFO(name(static_cast<Bin>(b)));
    CHECK(found.seconds[b] == Approx(wanted.seconds[b]).margin(1e-12));
  }
  CHECK(found.total() == Approx(trace.step_s).epsilon(1e-12));
}

// One rank: compute 1 s, then a TP flow, beside it compute of 0.5 s; then 1 s that needs the flow.
Trace overlapped_flow(double flow_seconds) {
  Trace trace;
  const std::int32_t t = add_template(trace, "F",
                                      {{kCompute, Category::compute, 1},
                                       {Stream::tp, Category::tp, flow_seconds, {0}, 0, 0},
                                       {kCompute, Category::recompute, 0.5},
                                       {kCompute, Category::optimizer, 1, {1}}});
  add_rank(trace, add_program(trace, 0, {t}, 1), {0});
  return trace;
}

}  // namespace

TEST_CASE("breakdown: an operation that starts late without a reason is our fault") {
  Trace trace = overlapped_flow(2);
  execute(trace);
  trace.ranks[0].start_s[0] = 0.5;
  CHECK_THROWS_AS(rank_breakdown(trace, 0), InternalError);
}

// The flow runs from 1 to 3; the compute stream is busy until 1.5 and from 3 to 4.
TEST_CASE("breakdown: a collective in flight is exposed where nothing runs beside it") {
  Trace trace = overlapped_flow(2);
  execute(trace);
  CHECK(trace.step_s == 4);
  check_bins(trace, rank_breakdown(trace, 0),
             {{Bin::compute, 1}, {Bin::recompute, 0.5}, {Bin::optimizer, 1}, {Bin::tp, 1.5}});
}

// Alone the flow would take 1 s, until 2; it takes 2 s, until 3. Of the gap from 1.5 to 3 the first
// half second is exposed TP, the rest is contention.
TEST_CASE("breakdown: what a flow takes beyond its time alone is contention") {
  Trace trace = overlapped_flow(1);
  execute(trace, {2.0});
  check_bins(trace, rank_breakdown(trace, 0),
             {{Bin::compute, 1},
              {Bin::recompute, 0.5},
              {Bin::optimizer, 1},
              {Bin::tp, 0.5},
              {Bin::contention, 1}});
}

// Latency 0.25 s of software and 2 steps of 0.125 s: the flow runs from 1 to 2.5, alone all along.
TEST_CASE("breakdown: latency is part of the time alone") {
  Trace trace = overlapped_flow(1);
  trace.templates[0].ops[1].duration_s = 0.25;
  trace.templates[0].ops[1].steps = 2;
  trace.lanes[0].hop_latency_s = 0.125;
  execute(trace);
  check_bins(trace, rank_breakdown(trace, 0),
             {{Bin::compute, 1}, {Bin::recompute, 0.5}, {Bin::optimizer, 1}, {Bin::tp, 1.0}});
}

// Stage 0 computes 2 s and sends for 0.5 s; stage 1 needs that for 3 s of compute: step 5.5.
TEST_CASE("breakdown: waiting for another stage is bubble, the message in flight is pp") {
  Trace trace;
  const std::int32_t first = add_template(
      trace, "F0",
      {{kCompute, Category::compute, 2}, {Stream::pp_send_forward, Category::pp, 0.5, {0}, 0, 0}});
  const std::int32_t second = add_template(trace, "F1",
                                           {{Stream::pp_recv_forward, Category::pp, 0.5, {}, 0, 0},
                                            {kCompute, Category::compute, 3, {0}}});
  add_rank(trace, add_program(trace, 0, {first}, 1), {0});
  add_rank(trace, add_program(trace, 1, {second}, 1), {0}, 3);
  execute(trace);
  check_trace(trace);
  CHECK(trace.step_s == 5.5);
  // Stage 0: the send is in flight from 2 to 2.5 after its last compute; then nothing.
  check_bins(trace, rank_breakdown(trace, 0), {{Bin::compute, 2}, {Bin::pp, 0.5}, {Bin::wait, 3}});
  check_bins(trace, rank_breakdown(trace, 1),
             {{Bin::compute, 3}, {Bin::bubble, 2}, {Bin::pp, 0.5}});
  // Mean over 1 rank of stage 0 and 3 of stage 1.
  check_bins(trace, step_breakdown(trace),
             {{Bin::compute, 11.0 / 4}, {Bin::pp, 0.5}, {Bin::wait, 0.75}, {Bin::bubble, 1.5}});
  const std::vector<Breakdown> stages = stage_breakdowns(trace);
  REQUIRE(stages.size() == 2);
  check_bins(trace, stages[1], {{Bin::compute, 3}, {Bin::bubble, 2}, {Bin::pp, 0.5}});
}

// Two ranks of one TP group compute 1 and 3 s, then reduce for 0.5 s and compute 1 s.
TEST_CASE("breakdown: waiting for a slower member of the group is wait") {
  Trace trace;
  for (const double seconds : {1.0, 3.0}) {
    const std::int32_t t = add_template(trace, "F",
                                        {{kCompute, Category::compute, seconds},
                                         {Stream::tp, Category::sp, 0.5, {0}, 0, 0},
                                         {kCompute, Category::compute, 1, {1}}});
    add_rank(trace, add_program(trace, 0, {t}, 1), {0});
  }
  execute(trace);
  check_trace(trace);
  CHECK(trace.step_s == 4.5);
  check_bins(trace, rank_breakdown(trace, 0), {{Bin::compute, 2}, {Bin::wait, 2}, {Bin::sp, 0.5}});
  check_bins(trace, rank_breakdown(trace, 1), {{Bin::compute, 4}, {Bin::sp, 0.5}});
}

// The gap of rank 0 from 1 to 4: a reduce over tp until 1.5 (both came at 1), then a reduce over dp
// that the other member joins at 3.5 and that takes 0.5 s. Walking back: dp, wait, tp.
TEST_CASE("breakdown: a gap is walked back through a chain of collectives") {
  Trace trace;
  const std::int32_t t = add_template(trace, "F",
                                      {{kCompute, Category::compute, 1},
                                       {Stream::tp, Category::tp, 0.5, {0}, 0, 0},
                                       {Stream::dp, Category::dp, 0.5, {1}, 0, 1},
                                       {kCompute, Category::compute, 1, {2}}});
  const std::int32_t late = add_template(
      trace, "late",
      {{kCompute, Category::compute, 3.5}, {Stream::dp, Category::dp, 0.5, {0}, 0, 0}});
  add_rank(trace, add_program(trace, 0, {t}, 2), {0, 1});
  add_rank(trace, add_program(trace, 0, {late}, 1), {1});
  execute(trace);
  check_trace(trace);
  check_bins(trace, rank_breakdown(trace, 0),
             {{Bin::compute, 2}, {Bin::tp, 0.5}, {Bin::wait, 2}, {Bin::dp, 0.5}});
  // Rank 1: dp in flight from 3.5 to 4 after its last compute, then idle until 5.
  check_bins(trace, rank_breakdown(trace, 1),
             {{Bin::compute, 3.5}, {Bin::dp, 0.5}, {Bin::wait, 1}});
}

// A layer's kernels take 1 s, the host needs 3 s to launch them; the next layer joins the host.
TEST_CASE("breakdown: waiting for the host is other") {
  Trace trace;
  const std::int32_t t = add_template(trace, "F",
                                      {{Stream::host, Category::other, 3},
                                       {kCompute, Category::compute, 1},
                                       {kCompute, Category::compute, 1, {}, mask(Stream::host)}});
  add_rank(trace, add_program(trace, 0, {t}, 0), {});
  execute(trace);
  check_bins(trace, rank_breakdown(trace, 0), {{Bin::compute, 2}, {Bin::other, 2}});
}

// The join reaches into an earlier pass: the second pass's compute waits for the first's dp flow.
TEST_CASE("breakdown: a join waits for what earlier passes have enqueued") {
  Trace trace;
  const std::int32_t reduce = add_template(
      trace, "B", {{kCompute, Category::compute, 1}, {Stream::dp, Category::dp, 2, {0}, 0, 0}});
  const std::int32_t end =
      add_template(trace, "end", {{kCompute, Category::optimizer, 1, {}, mask(Stream::dp)}});
  add_rank(trace, add_program(trace, 0, {reduce, end}, 1), {0});
  execute(trace);
  check_trace(trace);
  check_bins(trace, rank_breakdown(trace, 0),
             {{Bin::compute, 1}, {Bin::dp, 2}, {Bin::optimizer, 1}});
}

// After the last compute operation (end 1): tp in flight from 1 to 2, dp from 1.5 to 4 of which 1.5
// to 3 alone; the later end explains, so tp until 1.5, dp until 3, contention until 4, wait
// until 6.
TEST_CASE("breakdown: after the last operation, what ends last explains") {
  Trace trace;
  const std::int32_t t = add_template(trace, "F",
                                      {{kCompute, Category::compute, 1},
                                       {Stream::tp, Category::tp, 1, {0}, 0, 0},
                                       {Stream::host, Category::other, 1.5},
                                       {Stream::dp, Category::dp, 1.5, {2}, 0, 1}});
  const std::int32_t slow = add_template(trace, "slow", {{kCompute, Category::compute, 6}});
  add_rank(trace, add_program(trace, 0, {t}, 2), {0, 1});
  add_rank(trace, add_program(trace, 0, {slow}, 0), {});
  execute(trace, {1.0, 2.5 / 1.5});
  check_trace(trace);
  check_bins(
      trace, rank_breakdown(trace, 0),
      {{Bin::compute, 1}, {Bin::tp, 0.5}, {Bin::dp, 1.5}, {Bin::contention, 1}, {Bin::wait, 2}});
}

TEST_CASE("breakdown: a rank that never computes") {
  Trace trace;
  const std::int32_t t = add_template(trace, "F", {{Stream::dp, Category::dp, 2, {}, 0, 0}});
  add_rank(trace, add_program(trace, 0, {t}, 1), {0});
  execute(trace);
  check_bins(trace, rank_breakdown(trace, 0), {{Bin::dp, 2}});
}

namespace {

// As a reader of the JSON adds: key after key.
double added(const Breakdown& breakdown) {
  double sum = 0;
  for (const double bin : breakdown.seconds) {
    sum += bin;
  }
  return sum;
}

}  // namespace

TEST_CASE("settle: bins that are no breakdown of the whole are our fault") {
  Breakdown bins;
  bins[Bin::compute] = 1;
  CHECK_THROWS_AS(settle(bins, 1.001, 1.001), InternalError);
}

// 0.1 + 0.2 + 0.3 added in order is 0.6000000000000001.
TEST_CASE("settle: the last bit that rounding leaves goes to the largest bin") {
  Breakdown bins;
  bins[Bin::compute] = 0.3;
  bins[Bin::tp] = 0.2;
  bins[Bin::bubble] = 0.1;
  for (const double total : {0.6, 0.6000000000000001, 0.6000000000000002}) {
    Breakdown settled = bins;
    settle(settled, total, total);
    CHECK(added(settled) == total);
    CHECK(settled.total() == total);
    CHECK(settled[Bin::compute] == Approx(0.3).epsilon(1e-14));
    CHECK(settled[Bin::tp] == 0.2);
    CHECK(settled[Bin::bubble] == 0.1);
    CHECK(settled[Bin::wait] == 0);
  }
}

// Differences of breakdowns: large bins that nearly cancel.
TEST_CASE("settle: sums of differences are exact too") {
  std::uint64_t state = 7;
  const auto random = [&state] {  // 0 to 1, from a linear congruential generator (Knuth's MMIX)
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 11U) / 9007199254740992.0;
  };
  for (int i = 0; i < 2000; ++i) {
    Breakdown bins;
    for (double& bin : bins.seconds) {
      bin = random() < 0.5 ? 0 : random() - 0.5;
    }
    const double total = (1 + bins.total()) - 1;  // a difference of two steps of about a second
    if (total != 0) {
      settle(bins, total, 1);
      CAPTURE(i);
      CHECK(added(bins) == total);
    }
  }
}
