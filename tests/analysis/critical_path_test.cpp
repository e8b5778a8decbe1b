#include <fmt/format.h>

#include "analysis/analysis.h"
#include "support/catch.h"
#include "support/toy_trace.h"

using namespace shardsim;

namespace {

constexpr Stream kCompute = Stream::compute;

std::string text(const CriticalPath& path) {
  std::string result;
  for (const PathSegment& s : path.segments) {
    result += fmt::format("{}[{:.10g},{:.10g}]r{}o{} ", name(s.bin), s.start_s, s.end_s,
                          s.rank_class, s.op);
  }
  return result;
}

}  // namespace

// Two ranks of a TP group compute 1 and 3 s, reduce for 0.5 s, compute 1 s. The last operations of
// both end together: the lower rank's is taken; the flow was bound by rank 1.
TEST_CASE("critical_path: a collective leads to its last member") {
  Trace trace;
  for (const double seconds : {1.0, 3.0}) {
    const std::int32_t t = add_template(trace, "F",
                                        {{kCompute, Category::compute, seconds},
                                         {Stream::tp, Category::tp, 0.5, {0}, 0, 0},
                                         {kCompute, Category::optimizer, 1, {1}}});
    add_rank(trace, add_program(trace, 0, {t}, 1), {0});
  }
  execute(trace);
  const CriticalPath path = critical_path(trace);
  CHECK(text(path) == "compute[0,3]r1o0 tp[3,3.5]r0o1 optimizer[3.5,4.5]r0o2 ");
  CHECK(path.by_category[Bin::compute] == 3);
  CHECK(path.by_category[Bin::tp] == 0.5);
  CHECK(path.by_category[Bin::wait] == 0);
  CHECK(path.by_category.total() == 4.5);
}

// The TP flow (data) and the compute before it on the stream both end at 2: data is taken.
TEST_CASE("critical_path: of a tie data comes before stream order") {
  Trace trace;
  const std::int32_t t = add_template(trace, "F",
                                      {{kCompute, Category::compute, 1},
                                       {kCompute, Category::recompute, 1},
                                       {Stream::tp, Category::tp, 1, {0}, 0, 0},
                                       {kCompute, Category::optimizer, 1, {2}}});
  add_rank(trace, add_program(trace, 0, {t}, 1), {0});
  execute(trace);
  CHECK(text(critical_path(trace)) == "compute[0,1]r0o0 tp[1,2]r0o2 optimizer[2,3]r0o3 ");
}

// Two flows end at 2, and one 1e-10 of the step earlier than both: a tie of three, the lowest is
// taken, and its segment runs up to the start that it bound.
TEST_CASE("critical_path: of a tie the lower operation comes first") {
  Trace trace;
  const std::int32_t t = add_template(trace, "F",
                                      {{Stream::cp, Category::cp, 2 - 3e-10, {}, 0, 0},
                                       {Stream::tp, Category::tp, 2, {}, 0, 1},
                                       {Stream::dp, Category::dp, 2, {}, 0, 2},
                                       {kCompute, Category::compute, 1, {2, 1, 0}}});
  add_rank(trace, add_program(trace, 0, {t}, 3), {0, 1, 2});
  execute(trace);
  const CriticalPath path = critical_path(trace);
  CHECK(text(path) == "cp[0,2]r0o0 compute[2,3]r0o3 ");
  CHECK(path.segments[0].end_s == path.segments[1].start_s);
  CHECK(path.segments[0].contention_s == 0);
}

// Two members arrive at 2 together: the lower rank's work is followed.
TEST_CASE("critical_path: of members that arrive together the lower rank comes first") {
  Trace trace;
  for (const Category category : {Category::compute, Category::recompute}) {
    const std::int32_t t = add_template(
        trace, "F", {{kCompute, category, 2}, {Stream::tp, Category::tp, 1, {0}, 0, 0}});
    add_rank(trace, add_program(trace, 0, {t}, 1), {0});
  }
  execute(trace);
  CHECK(text(critical_path(trace)) == "compute[0,2]r0o0 tp[2,3]r0o1 ");
  trace.ranks[0].representative = 7;  // now class 1 has the lower rank
  CHECK(text(critical_path(trace)) == "recompute[0,2]r1o0 tp[2,3]r1o1 ");
}

// Alone the flow takes 1 s, shared 3 s: 1 s of TP, 2 s of contention; bound by a link.
TEST_CASE("critical_path: a flow splits into its time alone and contention") {
  Trace trace;
  const std::int32_t t = add_template(
      trace, "F",
      {{kCompute, Category::compute, 1}, {Stream::tp, Category::tp, 1, {0}, 0, 0, "reduce"}});
  add_rank(trace, add_program(trace, 2, {t}, 1), {0});
  trace.links.push_back({"node0.nic0.tx", 1, BytesPerSecond{1}, 1, {}});
  trace.lanes[0].bound_link = 0;
  execute(trace, {3.0});
  const CriticalPath path = critical_path(trace);
  REQUIRE(path.segments.size() == 2);
  const PathSegment& flow = path.segments[1];
  CHECK(flow.contention_s == Approx(2));
  CHECK(at(trace.links, flow.link).name == "node0.nic0.tx");
  CHECK(trace.labels[static_cast<std::size_t>(flow.label)] == "reduce");
  CHECK(flow.stage == 2);
  CHECK(flow.micro_batch == 0);
  CHECK(path.by_category[Bin::tp] == Approx(1));
  CHECK(path.by_category[Bin::contention] == Approx(2));
  CHECK(path.segments[0].link == -1);
}

// The receiver posts late: the message is bound by the receiver, not by the sender.
TEST_CASE("critical_path: a send waits for its receiver") {
  Trace trace;
  const std::int32_t send = add_template(
      trace, "F0",
      {{kCompute, Category::compute, 1}, {Stream::pp_send_forward, Category::pp, 1, {0}, 0, 0}});
  const std::int32_t recv = add_template(
      trace, "F1",
      {{kCompute, Category::recompute, 2}, {Stream::pp_recv_forward, Category::pp, 1, {0}, 0, 0}});
  add_rank(trace, add_program(trace, 0, {send}, 1), {0});
  add_rank(trace, add_program(trace, 1, {recv}, 1), {0});
  execute(trace);
  CHECK(text(critical_path(trace)) == "recompute[0,2]r1o0 pp[2,3]r0o1 ");
}
