// Coalesced replay = replay of every operation, on random training jobs.
#include "fold/coalesce.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "analysis/analysis.h"
#include "random_job.h"
#include "support/catch.h"
#include "support/hand_job.h"
#include "trace/check_trace.h"

namespace shardsim {
namespace {

using test::perturb;
using test::random_run;

struct Both {
  RunSpec run;
  Program program;
  Folded folded;
  Folded coalesced;
  Trace detailed_trace;
  Trace coalesced_trace;
};

Both simulate_both(const RunSpec& run, FoldMode mode) {
  Both both;
  both.run = run;
  const RankGrid grid(run.parallel);
  const Fabric fabric = make_fabric(run);
  both.program = build_program(run, grid);
  both.folded = fold(lower_program(both.program, run, grid, fabric, make_node_map(run)), mode);
  both.coalesced = coalesce(both.folded);
  check_folded(both.coalesced);
  const ReplayChild detailed = start_replay(both.folded);
  const ReplayChild coalesced = start_replay(both.coalesced);
  both.detailed_trace = finish_replay(detailed, both.folded, &fabric);
  both.coalesced_trace = finish_replay(coalesced, both.coalesced, &fabric);
  check_trace(both.detailed_trace);
  check_trace(both.coalesced_trace);
  return both;
}

constexpr double kExact = 1e-9;  // of the step

bool same(double a, double b, double scale) { return std::abs(a - b) <= kExact * scale; }

std::string differs(const Breakdown& a, const Breakdown& b, double step, const std::string& where) {
  for (std::size_t bin = 0; bin < kBinCount; ++bin) {
    if (!same(a.seconds[bin], b.seconds[bin], step)) {
      return where + " " + std::string(name(static_cast<Bin>(bin))) + ": " +
             std::to_string(a.seconds[bin]) + " and " + std::to_string(b.seconds[bin]);
    }
  }
  return "";
}

std::string differ(const std::vector<CollectiveUse>& a, const std::vector<CollectiveUse>& b,
                   double step) {
  std::map<std::tuple<std::string, std::string, std::string>, CollectiveUse> known;
  for (const CollectiveUse& use : a) {
    known[{use.group, use.label, use.algorithm}] = use;
  }
  if (a.size() != b.size()) {
    return "collectives";
  }
  for (const CollectiveUse& use : b) {
    const CollectiveUse& other = known[{use.group, use.label, use.algorithm}];
    if (use.count != other.count || use.message != other.message ||
        !same(use.time_s, other.time_s, step) || !same(use.exposed_s, other.exposed_s, step) ||
        use.bound_link != other.bound_link) {
      return use.group + " " + use.label + ": " + std::to_string(other.time_s) + " " +
             std::to_string(other.exposed_s) + " " + other.bound_link + " and " +
             std::to_string(use.time_s) + " " + std::to_string(use.exposed_s) + " " +
             use.bound_link;
    }
  }
  return "";
}

// What the two analyses differ in, or "".
std::string first_difference(const Both& both) {
  const Analysis a = analyze(both.detailed_trace, both.program, both.run);
  const Analysis b = analyze(both.coalesced_trace, both.program, both.run);
  if (!same(a.step_s, b.step_s, a.step_s)) {
    return "step " + std::to_string(a.step_s) + " off by " +
           std::to_string((b.step_s - a.step_s) * 1e9) + " ns";
  }
  std::string text = differs(a.breakdown, b.breakdown, a.step_s, "breakdown");
  for (std::size_t s = 0; text.empty() && s < a.breakdown_per_stage.size(); ++s) {
    text = differs(a.breakdown_per_stage[s], b.breakdown_per_stage[s], a.step_s,
                   "stage " + std::to_string(s));
  }
  if (text.empty()) {
    text = differs(a.critical_path.by_category, b.critical_path.by_category, a.step_s, "path");
  }
  if (text.empty() && !same(b.critical_path.by_category.total(), b.step_s, a.step_s)) {
    text = "the path does not sum to the step";
  }
  if (text.empty()) {
    text = differ(a.collectives, b.collectives, a.step_s);
  }
  for (std::size_t l = 0; text.empty() && l < both.detailed_trace.links.size(); ++l) {
    const TraceLink& link = both.detailed_trace.links[l];
    const TraceLink& other = both.coalesced_trace.links[l];
    if (!same(link.bytes, other.bytes, link.bytes) || link.users.size() != other.users.size()) {
      text = "link " + link.name;
    }
  }
  return text;
}

// The earliest operation whose times differ, outside chains or inside, for the log.
class DifferenceFinder {
 public:
  explicit DifferenceFinder(const Both& both)
      : both_(both), earliest_(both.detailed_trace.step_s + 1) {}

  std::string run() {
    for (std::int32_t r = 0; r < count(both_.folded.ranks); ++r) {
      const TraceRank& rank = at(both_.coalesced_trace.ranks, r);
      std::int32_t first = 0;
      for (const TracePass& pass : at(both_.coalesced_trace.programs, rank.program).passes) {
        const TraceTemplate& t = at(both_.coalesced_trace.templates, pass.pass_template);
        for (std::int32_t i = 0; i < count(t.ops); ++i) {
          compare(r, first, t, i, pass.first_op + i);
        }
        first += t.uncoalesced_ops < 0 ? count(t.ops) : t.uncoalesced_ops;
      }
    }
    return text_;
  }

 private:
  void compare(std::int32_t r, std::int32_t first, const TraceTemplate& t, std::int32_t i,
               std::int32_t index) {
    const TraceOp& op = at(t.ops, i);
    const TraceRank& rank = at(both_.coalesced_trace.ranks, r);
    if (op.part < 0) {
      note(r, first + (op.order < 0 ? i : op.order), at(rank.start_s, index), at(rank.end_s, index),
           t.name, op.label);
      return;
    }
    const TracePart& part = at(both_.coalesced_trace.parts, op.part);
    const Trace& chain = at(both_.coalesced_trace.chains, part.chain);
    if (at(chain.heads, part.rank) != i) {
      return;
    }
    const TraceRank& inside = at(chain.ranks, part.rank);
    for (std::int32_t k = 0; k < count(inside.end_s); ++k) {
      const TraceOp& what = at(at(chain.templates, part.rank).ops, k);
      const double start = at(rank.start_s, index);
      note(r, first + what.order, start + at(inside.start_s, k), start + at(inside.end_s, k),
           t.name + " (chain)", what.label);
    }
  }

  void note(std::int32_t r, std::int32_t op, double start, double end, const std::string& pass,
            std::int32_t label) {
    const TraceRank& detailed = at(both_.detailed_trace.ranks, r);
    const double off = std::max(std::abs(at(detailed.start_s, op) - start),
                                std::abs(at(detailed.end_s, op) - end));
    if (off > 1e-11 * both_.detailed_trace.step_s && end < earliest_) {
      earliest_ = end;
      text_ = "rank class " + std::to_string(r) + " operation " + std::to_string(op) + " of pass " +
              pass + " \"" + at(both_.folded.labels, label) + "\" ends at " + std::to_string(end) +
              " s, off by " + std::to_string(off * 1e9) + " ns";
    }
  }

  const Both& both_;
  double earliest_;
  std::string text_ = "no operation differs";
};

std::string describe(const RunSpec& run) {
  std::string text =
      "tp " + std::to_string(run.parallel.tp) + " sp " +
      std::to_string(static_cast<int>(run.parallel.sp)) + " pp " + std::to_string(run.parallel.pp) +
      " vpp " + std::to_string(run.parallel.vpp) + " dp " + std::to_string(run.parallel.dp) +
      " zero " + std::to_string(run.parallel.zero) + " gpus per node " +
      std::to_string(run.cluster.node.gpus) + " micro batches " +
      std::to_string(run.batch.micro_batches) + " " + run.training.schedule + " order";
  for (const Axis axis : run.parallel.order) {
    text += " " + std::string(name(axis));
  }
  for (const Perturbation& one : run.perturbations) {
    text += ", " + std::to_string(static_cast<int>(one.kind)) + " " + std::to_string(one.index) +
            one.link + " x " + std::to_string(one.factor);
  }
  return text;
}

// Where flows of different ranks contend, rounding may grow from event to event: then the replay of
// every operation changes as well when ranks are faster by parts in 1e12. Nothing can be exact
// there, so such jobs say nothing.
bool is_chaotic(const Both& both) {
  Both nudged = both;
  nudged.coalesced = both.folded;
  for (std::int32_t r = 0; r < count(nudged.coalesced.ranks); ++r) {
    at(nudged.coalesced.ranks, r).speed *= 1 + 1e-12 * (r + 1);
  }
  const Fabric fabric = make_fabric(both.run);
  nudged.coalesced_trace = replay_in_child(nudged.coalesced, &fabric);
  return !first_difference(nudged).empty();
}

void check_job(const RunSpec& run, FoldMode mode) {
  const Both both = simulate_both(run, mode);
  const std::string difference = first_difference(both);
  const bool chaotic = !difference.empty() && is_chaotic(both);
  RC_CLASSIFY(chaotic, "chaotic");
  if (chaotic) {
    return;
  }
  if (!difference.empty()) {
    RC_LOG(difference + "\n" + describe(run) + "\n" + DifferenceFinder(both).run());
  }
  RC_ASSERT(difference.empty());
}

TEST_CASE("coalesced: of simultaneous ends stream order is not taken for data") {
  // A gather of two ranks ends at 2 s; the host's timer and a kernel both run from there to 6 s,
  // and the next timer of the host waits for both, by the order of streams: the lower bound it.
  HandJob job;
  const LinkId shared = job.add_link(1e9);
  HandOp timer = kernel(4, {0});
  timer.stream = Stream::host;
  HandOp next = kernel(1);
  next.stream = Stream::host;
  next.join = mask(Stream::compute);
  const std::int32_t program = job.add_program({flow(0, 1e9), timer, kernel(4, {0}), next});
  for (int rank = 0; rank < 2; ++rank) {
    job.add_rank(program, {job.add_lane({{shared, 1}})}, rank == 0 ? 1.0 : 1.0 + 1e-9);
  }
  const Folded folded = fold(job.lowered);
  for (const Folded& either : {folded, coalesce(folded)}) {
    const CriticalPath path = critical_path(replay_in_child(either));
    REQUIRE(path.segments.size() == 3);
    CHECK(path.segments[0].op == 0);
    CHECK(path.segments[1].op == 1);
    CHECK(path.segments[2].op == 3);
  }
}

TEST_CASE("property: a coalesced replay tells the same as one of every operation") {
  REQUIRE(rc::check("regular", [] { check_job(random_run(64), FoldMode::automatic); }));
}

TEST_CASE("property: coalescing is exact among unequal ranks") {
  REQUIRE(rc::check("perturbed", [] {
    RunSpec run = random_run(32);
    perturb(run);
    check_job(run, FoldMode::automatic);
  }));
}

TEST_CASE("property: coalescing is exact when every rank is a class of its own") {
  REQUIRE(rc::check("discrete", [] {
    RunSpec run = random_run(16);
    perturb(run);
    check_job(run, FoldMode::off);
  }));
}

}  // namespace
}  // namespace shardsim
