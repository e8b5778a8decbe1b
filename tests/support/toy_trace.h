// Small traces for tests: written by hand, timed by an executor that shares nothing with sim/.
//
// Flows move `seconds` bytes at a pace of 1 B/s, so that `seconds` is their time alone; a lane may
// be made to run slower than that (contention).
//   Trace trace;
//   int t = add_template(trace, "F", {{Stream::compute, Category::compute, 2}});
//   add_rank(trace, add_program(trace, 0, {t}, 0), {});
//   execute(trace);   // trace.step_s == 2
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "trace/trace.h"

namespace shardsim {

struct ToyOp {
  Stream stream = Stream::compute;
  Category category = Category::compute;
  double seconds = 0;
  std::vector<std::int32_t> deps = {};
  StreamMask join = 0;
  std::int32_t slot = -1;  // flows
  std::string label = "op";
};

inline std::int32_t add_label(Trace& trace, const std::string& label) {
  const auto found = std::find(trace.labels.begin(), trace.labels.end(), label);
  const auto index = static_cast<std::int32_t>(found - trace.labels.begin());
  if (found == trace.labels.end()) {
    trace.labels.push_back(label);
  }
  return index;
}

inline std::int32_t add_template(Trace& trace, const std::string& name,
                                 const std::vector<ToyOp>& ops) {
  TraceTemplate t;
  t.name = name;
  for (const ToyOp& toy : ops) {
    TraceOp op;
    op.stream = toy.stream;
    op.category = toy.category;
    op.is_flow = toy.slot >= 0;
    op.join = toy.join;
    op.first_dep = count(t.deps);
    op.dep_count = count(toy.deps);
    t.deps.insert(t.deps.end(), toy.deps.begin(), toy.deps.end());
    op.label = add_label(trace, toy.label);
    op.slot = toy.slot;
    (op.is_flow ? op.amount : op.duration_s) = toy.seconds;
    op.message = Bytes{op.is_flow ? 1000 : 0};
    t.ops.push_back(op);
  }
  trace.templates.push_back(t);
  return count(trace.templates) - 1;
}

inline std::int32_t add_program(Trace& trace, std::int32_t stage,
                                const std::vector<std::int32_t>& templates, std::int32_t slots) {
  TraceProgram program;
  program.stage = stage;
  std::int32_t ops = 0;
  for (const std::int32_t t : templates) {
    program.passes.push_back({t, count(program.passes), 0, ops});
    ops += count(at(trace.templates, t).ops);
  }
  program.slot_groups.assign(static_cast<std::size_t>(slots), "tp");
  program.slot_algorithms.assign(static_cast<std::size_t>(slots), "ring");
  program.slot_roles.assign(static_cast<std::size_t>(slots), 0);
  trace.programs.push_back(program);
  return count(trace.programs) - 1;
}

// `lanes`: of each slot; lanes are made as they are named.
inline std::int32_t add_rank(Trace& trace, std::int32_t program,
                             const std::vector<std::int32_t>& lanes, std::int32_t size = 1) {
  const std::int32_t index = count(trace.ranks);
  TraceRank rank;
  rank.representative = index;
  rank.size = size;
  rank.program = program;
  rank.slot_lanes = lanes;
  for (std::int32_t slot = 0; slot < count(lanes); ++slot) {
    while (count(trace.lanes) <= at(lanes, slot)) {
      trace.lanes.emplace_back();
      trace.lanes.back().pace_alone_Bps = 1;
    }
    at(trace.lanes, at(lanes, slot)).member_rank_class.push_back(index);
    at(trace.lanes, at(lanes, slot)).member_slot.push_back(slot);
  }
  trace.ranks.push_back(rank);
  return index;
}

// Relaxation: runs through all operations until no time changes, starting from all zero. Slow and
// obviously right: each time only ever rises, to the least solution of the rules of program.h.
// `slowdown` of a lane multiplies the time its bytes take.
inline void execute(Trace& trace, const std::vector<double>& slowdown = {}) {
  struct TimedOp {
    const TraceOp* what;
    std::int32_t pass_start;
    const TraceTemplate* t;
    std::int32_t lane;
    std::int32_t use;
  };
  std::vector<std::vector<TimedOp>> all;
  std::vector<std::vector<double>> begins(trace.lanes.size());
  for (TraceRank& rank : trace.ranks) {
    std::vector<TimedOp> ops;
    std::vector<std::int32_t> uses(rank.slot_lanes.size(), 0);
    for (const TracePass& pass : at(trace.programs, rank.program).passes) {
      const TraceTemplate& t = at(trace.templates, pass.pass_template);
      for (const TraceOp& what : t.ops) {
        TimedOp op{&what, pass.first_op, &t, -1, -1};
        if (what.is_flow) {
          op.lane = at(rank.slot_lanes, what.slot);
          op.use = at(uses, what.slot)++;
          std::vector<double>& of_lane = at(begins, op.lane);
          of_lane.resize(std::max(of_lane.size(), static_cast<std::size_t>(op.use) + 1), 0);
        }
        ops.push_back(op);
      }
    }
    rank.start_s.assign(ops.size(), 0);
    rank.end_s.assign(ops.size(), 0);
    all.push_back(ops);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t r = 0; r < all.size(); ++r) {
      std::vector<double>& starts = trace.ranks[r].start_s;
      std::vector<double>& ends = trace.ranks[r].end_s;
      for (std::size_t i = 0; i < all[r].size(); ++i) {
        const TimedOp& op = all[r][i];
        double start = 0;
        for (std::size_t k = 0; k < i; ++k) {
          const Stream stream = all[r][k].what->stream;
          if (stream == op.what->stream || (op.what->join & mask(stream)) != 0) {
            start = std::max(start, ends[k]);
          }
        }
        for (std::int32_t d = 0; d < op.what->dep_count; ++d) {
          start = std::max(start, at(ends, op.pass_start + at(op.t->deps, op.what->first_dep + d)));
        }
        double end = start + op.what->duration_s;
        if (op.what->is_flow) {
          double& begin = at(at(begins, op.lane), op.use);
          begin = std::max(begin, start);
          const TraceLane& lane = at(trace.lanes, op.lane);
          const double factor = slowdown.empty() ? 1 : at(slowdown, op.lane);
          end = begin + op.what->duration_s + op.what->steps * lane.hop_latency_s +
                factor * op.what->amount / lane.pace_alone_Bps;
        }
        changed = changed || start != starts[i] || end != ends[i];
        starts[i] = start;
        ends[i] = end;
      }
    }
  }
  trace.step_s = 0;
  for (const TraceRank& rank : trace.ranks) {
    for (const double end : rank.end_s) {
      trace.step_s = std::max(trace.step_s, end);
    }
  }
}

}  // namespace shardsim
