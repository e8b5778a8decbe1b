// Laws that hold for every trace, on random small ones.
#include <random>

#include "analysis/analysis.h"
#include "support/catch.h"
#include "support/toy_trace.h"
#include "trace/check_trace.h"

using namespace shardsim;

namespace {

class RandomTrace {
 public:
  explicit RandomTrace(std::uint32_t seed) : random_(seed) {}

  Trace make() {
    const std::int32_t ranks = between(1, 5);
    lanes_ = between(1, 4);
    coarse_ = between(0, 1) == 0;
    choose_members(ranks);
    // Every rank enqueues its operations in one global order, so nothing can wait in a circle.
    std::vector<std::vector<std::int32_t>> templates(static_cast<std::size_t>(ranks));
    const std::int32_t kinds = between(1, 3);
    for (std::int32_t k = 0; k < kinds; ++k) {
      add_templates(ranks, templates);
    }
    const std::int32_t repeats = between(1, 2);
    for (std::int32_t r = 0; r < ranks; ++r) {
      std::vector<std::int32_t> passes;
      for (std::int32_t i = 0; i < repeats; ++i) {
        passes.insert(passes.end(), at(templates, r).begin(), at(templates, r).end());
      }
      const std::int32_t program = add_program(trace_, between(0, 2), passes, count(at(slots_, r)));
      add_rank(trace_, program, at(slots_, r), between(1, 4));
    }
    std::vector<double> slowdown;
    for (std::int32_t lane = 0; lane < count(trace_.lanes); ++lane) {
      at(trace_.lanes, lane).hop_latency_s = seconds() / 8;
      slowdown.push_back(between(0, 2) == 0 ? 1 + seconds() : 1);
    }
    execute(trace_, slowdown);
    return trace_;
  }

 private:
  std::int32_t between(std::int32_t low, std::int32_t high) {
    return low + static_cast<std::int32_t>(random_() % static_cast<std::uint32_t>(high - low + 1));
  }

  // Coarse times make many ties and zeros.
  double seconds() { return coarse_ ? between(0, 3) : between(0, 1 << 20) / double{1 << 18}; }

  void choose_members(std::int32_t ranks) {
    slots_.resize(static_cast<std::size_t>(ranks));
    members_.resize(static_cast<std::size_t>(lanes_));
    for (std::int32_t lane = 0; lane < lanes_; ++lane) {
      for (std::int32_t r = 0; r < ranks; ++r) {
        if (between(0, 1) == 0) {
          at(members_, lane).emplace_back(r, count(at(slots_, r)));
          at(slots_, r).push_back(lane);
        }
      }
    }
  }

  ToyOp random_op(std::int32_t before) {
    ToyOp op;
    op.stream = static_cast<Stream>(between(0, static_cast<std::int32_t>(kStreamCount) - 1));
    op.category = static_cast<Category>(between(0, static_cast<std::int32_t>(kCategoryCount) - 1));
    op.seconds = seconds();
    for (std::int32_t i = between(0, 2); i > 0 && before > 0; --i) {
      op.deps.push_back(between(0, before - 1));
    }
    op.join = between(0, 3) == 0 ? static_cast<StreamMask>(between(0, 1023)) : StreamMask{0};
    return op;
  }

  void add_templates(std::int32_t ranks, std::vector<std::vector<std::int32_t>>& templates) {
    std::vector<std::vector<ToyOp>> ops(static_cast<std::size_t>(ranks));
    for (std::int32_t i = between(1, 25); i > 0; --i) {
      const std::int32_t lane = between(0, lanes_ - 1);
      if (between(0, 2) == 0) {
        const double amount = seconds();
        for (const auto& [r, slot] : at(members_, lane)) {
          ToyOp op = random_op(count(at(ops, r)));
          op.slot = slot;
          op.seconds = amount;
          at(ops, r).push_back(op);
        }
      } else {
        const std::int32_t r = between(0, ranks - 1);
        ToyOp op = random_op(count(at(ops, r)));
        op.stream = between(0, 1) == 0 ? Stream::compute : op.stream;
        at(ops, r).push_back(op);
      }
    }
    for (std::int32_t r = 0; r < ranks; ++r) {
      at(templates, r).push_back(add_template(trace_, "t", at(ops, r)));
    }
  }

  std::mt19937 random_;
  Trace trace_;
  std::int32_t lanes_ = 1;
  bool coarse_ = false;
  std::vector<std::vector<std::int32_t>> slots_;  // per rank: the lane of each slot
  std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> members_;  // per lane
};

void check_breakdown(const Trace& trace, const Breakdown& found) {
  for (const double bin : found.seconds) {
    REQUIRE(bin >= 0);
  }
  REQUIRE(found.total() == Approx(trace.step_s).epsilon(1e-12).margin(0));
}

// What timers of the compute stream take in all; flows on it count as idle while they wait.
double compute_stream_timers(const Trace& trace, const TraceRank& rank) {
  double sum = 0;
  std::int32_t op = 0;
  for (const TracePass& pass : at(trace.programs, rank.program).passes) {
    for (const TraceOp& what : at(trace.templates, pass.pass_template).ops) {
      const bool counts = what.stream == Stream::compute && !what.is_flow;
      sum += counts ? at(rank.end_s, op) - at(rank.start_s, op) : 0;
      ++op;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("random_traces: bins sum to the step, for each rank, stage and the step") {
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    INFO("seed " << seed);
    const Trace trace = RandomTrace(seed).make();
    check_trace(trace);
    for (std::int32_t r = 0; r < count(trace.ranks); ++r) {
      const Breakdown bins = rank_breakdown(trace, r);
      check_breakdown(trace, bins);
      const double idle = bins[Bin::bubble] + bins[Bin::wait] + bins[Bin::contention];
      REQUIRE(compute_stream_timers(trace, at(trace.ranks, r)) + idle <=
              trace.step_s * (1 + 1e-12));
    }
    check_breakdown(trace, step_breakdown(trace));
  }
}

TEST_CASE("random_traces: the critical path abuts from the step's end to zero") {
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    INFO("seed " << seed);
    const Trace trace = RandomTrace(seed).make();
    const CriticalPath path = critical_path(trace);
    double now = 0;
    for (const PathSegment& segment : path.segments) {
      REQUIRE(segment.start_s == now);
      REQUIRE(segment.end_s > segment.start_s);
      REQUIRE(segment.contention_s >= 0);
      REQUIRE(segment.contention_s <= segment.end_s - segment.start_s);
      now = segment.end_s;
    }
    REQUIRE(now == trace.step_s);
    check_breakdown(trace, path.by_category);
    REQUIRE(path.by_category[Bin::bubble] == 0);
    REQUIRE(path.by_category[Bin::wait] == 0);
  }
}

// No rank can be explained away: each segment is a piece of what its operation really did.
TEST_CASE("random_traces: a segment of the path lies within its operation") {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    const Trace trace = RandomTrace(seed).make();
    const double tie = 1e-9 * trace.step_s;
    for (const PathSegment& segment : critical_path(trace).segments) {
      const TraceRank& rank = at(trace.ranks, segment.rank_class);
      REQUIRE(segment.start_s >= at(rank.start_s, segment.op) - tie);
      REQUIRE(segment.end_s <= at(rank.end_s, segment.op) + tie);
    }
  }
}

TEST_CASE("random_traces: a collective is never exposed longer than it flies") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    const Trace trace = RandomTrace(seed).make();
    for (const CollectiveUse& use : collective_uses(trace)) {
      REQUIRE(use.count > 0);
      REQUIRE(use.exposed_s >= 0);
      REQUIRE(use.exposed_s <= use.time_s * (1 + 1e-12) + 1e-9 * trace.step_s);
    }
  }
}
