#include "trace/check_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

constexpr double kRounding = 1e-9;  // of the step

template <class Vector>
bool is_index(const Vector& vector, std::int32_t index) {
  return index >= 0 && index < count(vector);
}

void check_templates(const Trace& trace) {
  for (const TraceTemplate& t : trace.templates) {
    for (std::int32_t i = 0; i < count(t.ops); ++i) {
      const TraceOp& op = at(t.ops, i);
      const std::string text = fmt::format("template {}, operation {}", t.name, i);
      SHARDSIM_CHECK(is_index(trace.labels, op.label), text);
      SHARDSIM_CHECK(op.is_flow == (op.slot >= 0), text);
      SHARDSIM_CHECK(op.part < 0 || is_index(trace.parts, op.part), text);
      SHARDSIM_CHECK(op.duration_s >= 0 && op.steps >= 0 && op.amount >= 0, text);
      SHARDSIM_CHECK(op.first_dep >= 0 && op.first_dep + op.dep_count <= count(t.deps), text);
      for (std::int32_t d = 0; d < op.dep_count; ++d) {
        const std::int32_t dep = at(t.deps, op.first_dep + d);
        SHARDSIM_CHECK(dep >= 0 && dep < i, text);
      }
    }
  }
}

void check_links(const Trace& trace) {
  for (const TraceLane& lane : trace.lanes) {
    SHARDSIM_CHECK(lane.member_rank_class.size() == lane.member_slot.size(), "lane members");
    SHARDSIM_CHECK(lane.pace_alone_Bps > 0, "a lane without a pace");
    SHARDSIM_CHECK(lane.bound_link == -1 || is_index(trace.links, lane.bound_link), "lane bound");
  }
}

// Times of one rank class against its own program; collects the uses of its slots.
class RankCheck {
 public:
  RankCheck(const Trace& trace, std::int32_t index)
      : trace_(trace), rank_(at(trace.ranks, index)), index_(index) {
    last_end_.fill(0);
  }

  std::vector<std::vector<std::int32_t>> run() {
    SHARDSIM_CHECK(is_index(trace_.programs, rank_.program) && rank_.size > 0, place(0));
    const TraceProgram& program = at(trace_.programs, rank_.program);
    SHARDSIM_CHECK(rank_.slot_lanes.size() == program.slot_groups.size(), place(0));
    SHARDSIM_CHECK(program.slot_algorithms.size() == program.slot_groups.size(), place(0));
    SHARDSIM_CHECK(program.slot_roles.size() == program.slot_groups.size(), place(0));
    slot_ops_.resize(program.slot_groups.size());
    std::int32_t ops = 0;
    for (const TracePass& pass : program.passes) {
      SHARDSIM_CHECK(is_index(trace_.templates, pass.pass_template), place(ops));
      SHARDSIM_CHECK(pass.first_op == ops, place(ops));
      const TraceTemplate& t = at(trace_.templates, pass.pass_template);
      ops += count(t.ops);
      SHARDSIM_CHECK(ops <= count(rank_.start_s) && ops <= count(rank_.end_s), place(ops));
      for (std::int32_t i = 0; i < count(t.ops); ++i) {
        check_op(t, pass, i);
      }
    }
    SHARDSIM_CHECK(ops == count(rank_.start_s) && ops == count(rank_.end_s), place(ops));
    return std::move(slot_ops_);
  }

 private:
  std::string place(std::int32_t op) const {
    return fmt::format("rank class {}, operation {}", index_, op);
  }

  void check_op(const TraceTemplate& t, const TracePass& pass, std::int32_t i) {
    const TraceOp& what = at(t.ops, i);
    const std::int32_t op = pass.first_op + i;
    const double rounding = kRounding * trace_.step_s;
    const double start = at(rank_.start_s, op);
    const double end = at(rank_.end_s, op);
    SHARDSIM_CHECK(start >= 0 && end >= start && end <= trace_.step_s, place(op));
    for (std::size_t s = 0; s < kStreamCount; ++s) {
      const bool waits =
          what.stream == static_cast<Stream>(s) || (what.join & mask(static_cast<Stream>(s))) != 0;
      SHARDSIM_CHECK(!waits || start >= last_end_[s] - rounding,
                     place(op) + " starts before its stream or a join");
    }
    for (std::int32_t d = 0; d < what.dep_count; ++d) {
      const std::int32_t dep = pass.first_op + at(t.deps, what.first_dep + d);
      SHARDSIM_CHECK(start >= at(rank_.end_s, dep) - rounding,
                     place(op) + fmt::format(" starts before operation {} has ended", dep));
    }
    for (std::size_t s = 0; s < kStreamCount; ++s) {
      const bool stands = what.stream == static_cast<Stream>(s) ||
                          (what.stands_on & mask(static_cast<Stream>(s))) != 0;
      last_end_[s] = stands ? std::max(last_end_[s], end) : last_end_[s];
    }
    if (what.is_flow) {
      SHARDSIM_CHECK(is_index(slot_ops_, what.slot), place(op));
      SHARDSIM_CHECK(is_index(trace_.lanes, at(rank_.slot_lanes, what.slot)), place(op));
      at(slot_ops_, what.slot).push_back(op);
    }
  }

  const Trace& trace_;
  const TraceRank& rank_;
  std::int32_t index_;
  std::array<double, kStreamCount> last_end_{};
  std::vector<std::vector<std::int32_t>> slot_ops_;
};

using SlotOps = std::vector<std::vector<std::vector<std::int32_t>>>;  // [class][slot]

void check_lane(const Trace& trace, const SlotOps& slot_ops, std::int32_t index) {
  const TraceLane& lane = at(trace.lanes, index);
  const double rounding = kRounding * trace.step_s;
  const auto text = [&](std::size_t use) { return fmt::format("lane {}, use {}", index, use); };
  std::vector<double> latest;
  std::vector<double> ends;
  for (std::int32_t m = 0; m < count(lane.member_rank_class); ++m) {
    const std::int32_t r = at(lane.member_rank_class, m);
    SHARDSIM_CHECK(is_index(trace.ranks, r), text(0));
    SHARDSIM_CHECK(is_index(at(slot_ops, r), at(lane.member_slot, m)), text(0));
    const TraceRank& rank = at(trace.ranks, r);
    SHARDSIM_CHECK(at(rank.slot_lanes, at(lane.member_slot, m)) == index, text(0));
    const std::vector<std::int32_t>& ops = at(at(slot_ops, r), at(lane.member_slot, m));
    if (m == 0) {
      latest.assign(ops.size(), 0);
      for (const std::int32_t op : ops) {
        ends.push_back(at(rank.end_s, op));
      }
    }
    SHARDSIM_CHECK(ops.size() == ends.size(), text(ops.size()));
    for (std::size_t use = 0; use < ops.size(); ++use) {
      latest[use] = std::max(latest[use], at(rank.start_s, ops[use]));
      SHARDSIM_CHECK(std::abs(at(rank.end_s, ops[use]) - ends[use]) <= rounding, text(use));
    }
  }
  for (std::size_t use = 0; use < ends.size(); ++use) {
    SHARDSIM_CHECK(ends[use] >= latest[use] - rounding, text(use) + " ends before it begins");
  }
}

}  // namespace

void check_trace(const Trace& trace) {
  SHARDSIM_CHECK(std::isfinite(trace.step_s) && trace.step_s >= 0, "step time");
  check_templates(trace);
  check_links(trace);
  SlotOps slot_ops;
  double last = 0;
  for (std::int32_t r = 0; r < count(trace.ranks); ++r) {
    slot_ops.push_back(RankCheck(trace, r).run());
    for (const double end : at(trace.ranks, r).end_s) {
      last = std::max(last, end);
    }
  }
  SHARDSIM_CHECK(last == trace.step_s, "the step ends with its last operation");
  for (std::int32_t i = 0; i < count(trace.lanes); ++i) {
    check_lane(trace, slot_ops, i);
  }
}

}  // namespace shardsim
