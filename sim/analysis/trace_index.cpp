#include "analysis/trace_index.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/chain_index.h"
#include "base/ids.h"
#include "base/rounding.h"

namespace shardsim {
namespace {

// The replay's times of a flow are exact to about 1e-12; what is below this is not contention.
constexpr double kNoContention = 1e-9;

std::array<std::int32_t, kStreamCount> no_ops() {
  std::array<std::int32_t, kStreamCount> none{};
  none.fill(-1);
  return none;
}

using LastOps = std::array<std::int32_t, kStreamCount>;

bool has_order(Stream stream) { return static_cast<std::size_t>(stream) < kStreamCount; }

void enqueue(const TraceOp& what, std::int32_t op, LastOps& last) {
  if (has_order(what.stream)) {
    at(last, static_cast<int>(what.stream)) = op;
  }
  for (std::size_t s = 0; what.stands_on != 0 && s < kStreamCount; ++s) {
    if ((what.stands_on & mask(static_cast<Stream>(s))) != 0) {
      last[s] = op;
    }
  }
}

ProgramIndex index_program(const Trace& trace, const TraceProgram& program) {
  ProgramIndex index;
  index.slot_ops.resize(program.slot_groups.size());
  std::array<std::int32_t, kStreamCount> last = no_ops();
  std::int32_t op = 0;
  std::int32_t order = 0;
  index.passes_of_template.assign(trace.templates.size(), 0);
  for (std::int32_t p = 0; p < count(program.passes); ++p) {
    index.last_before_pass.push_back(last);
    const TraceTemplate& t = at(trace.templates, at(program.passes, p).pass_template);
    ++at(index.passes_of_template, at(program.passes, p).pass_template);
    index.first_order.push_back(order);
    order += t.uncoalesced_ops >= 0 ? t.uncoalesced_ops : count(t.ops);
    for (const TraceOp& what : t.ops) {
      index.pass_of_op.push_back(p);
      index.previous.push_back(has_order(what.stream) ? at(last, static_cast<int>(what.stream))
                                                      : -1);
      enqueue(what, op, last);
      if (what.stream == Stream::compute) {
        index.compute_ops.push_back(op);
      }
      index.use.push_back(what.is_flow ? count(at(index.slot_ops, what.slot)) : -1);
      if (what.is_flow) {
        at(index.slot_ops, what.slot).push_back(op);
      }
      ++op;
    }
  }
  return index;
}

std::vector<std::array<std::int32_t, kStreamCount>> last_of_template(const TraceTemplate& t) {
  std::vector<std::array<std::int32_t, kStreamCount>> result;
  std::array<std::int32_t, kStreamCount> last = no_ops();
  for (std::int32_t i = 0; i < count(t.ops); ++i) {
    result.push_back(last);
    enqueue(at(t.ops, i), i, last);
  }
  return result;
}

struct Arrival {
  double at_s = 0;
  std::int32_t op = 0;
  Rank rank = 0;
};

// `op` by its number before coalescing. The last to arrive; among simultaneous ones the lower
// operation, then the lower rank.
std::int32_t last_arrival(const std::vector<Arrival>& arrivals, double latest_s, double tie_s) {
  std::int32_t best = -1;
  for (std::int32_t i = 0; i < count(arrivals); ++i) {
    const Arrival& a = at(arrivals, i);
    if (a.at_s < latest_s - tie_s) {
      continue;
    }
    if (best < 0 || a.op < at(arrivals, best).op ||
        (a.op == at(arrivals, best).op && a.rank < at(arrivals, best).rank)) {
      best = i;
    }
  }
  return best;
}

std::vector<Meeting> meetings_of(const TraceIndex& index, const TraceLane& lane) {
  const Trace& trace = *index.trace;
  const auto ops_of = [&](std::int32_t member) -> const std::vector<std::int32_t>& {
    const TraceRank& rank = at(trace.ranks, at(lane.member_rank_class, member));
    return at(at(index.programs, rank.program).slot_ops, at(lane.member_slot, member));
  };
  std::vector<Meeting> result;
  if (lane.member_rank_class.empty()) {
    return result;
  }
  std::vector<Arrival> arrivals(lane.member_rank_class.size());
  for (std::int32_t use = 0; use < count(ops_of(0)); ++use) {
    double latest = 0;
    for (std::int32_t m = 0; m < count(arrivals); ++m) {
      const TraceRank& rank = at(trace.ranks, at(lane.member_rank_class, m));
      const std::int32_t op = at(ops_of(m), use);
      at(arrivals, m) = {at(rank.start_s, op), index.order(at(lane.member_rank_class, m), op),
                         rank.representative};
      latest = std::max(latest, at(rank.start_s, op));
    }
    result.push_back({latest, last_arrival(arrivals, latest, index.tie_s)});
  }
  return result;
}

}  // namespace

const ProgramIndex& TraceIndex::program_of(std::int32_t rank_class) const {
  return at(programs, at(trace->ranks, rank_class).program);
}

const TracePass& TraceIndex::pass_of(std::int32_t rank_class, std::int32_t op) const {
  const std::int32_t program = at(trace->ranks, rank_class).program;
  return at(at(trace->programs, program).passes, at(at(programs, program).pass_of_op, op));
}

const TraceOp& TraceIndex::static_op(std::int32_t rank_class, std::int32_t op) const {
  const TracePass& pass = pass_of(rank_class, op);
  return at(at(trace->templates, pass.pass_template).ops, op - pass.first_op);
}

double TraceIndex::start_s(std::int32_t rank_class, std::int32_t op) const {
  return at(at(trace->ranks, rank_class).start_s, op);
}

double TraceIndex::end_s(std::int32_t rank_class, std::int32_t op) const {
  return at(at(trace->ranks, rank_class).end_s, op);
}

std::int32_t TraceIndex::stage(std::int32_t rank_class) const {
  return at(trace->programs, at(trace->ranks, rank_class).program).stage;
}

std::int32_t TraceIndex::order(std::int32_t rank_class, std::int32_t op) const {
  const ProgramIndex& program = program_of(rank_class);
  const std::int32_t pass = at(program.pass_of_op, op);
  const std::int32_t own = static_op(rank_class, op).order;
  const TracePass& row = pass_of(rank_class, op);
  return at(program.first_order, pass) + (own >= 0 ? own : op - row.first_op);
}

std::int32_t TraceIndex::lane_of(std::int32_t rank_class, std::int32_t op) const {
  return at(at(trace->ranks, rank_class).slot_lanes, static_op(rank_class, op).slot);
}

const Meeting& TraceIndex::meeting(std::int32_t rank_class, std::int32_t op) const {
  return at(at(meetings, lane_of(rank_class, op)), at(program_of(rank_class).use, op));
}

double TraceIndex::alone_end_s(std::int32_t rank_class, std::int32_t op) const {
  const TraceOp& what = static_op(rank_class, op);
  const TraceLane& lane = at(trace->lanes, lane_of(rank_class, op));
  const double end = end_s(rank_class, op);
  const double moving = std::isinf(lane.pace_alone_Bps) ? 0 : what.amount / lane.pace_alone_Bps;
  const double alone = what.duration_s + what.steps * lane.hop_latency_s + moving;
  const double alone_end = meeting(rank_class, op).begin_s + alone;
  return end - alone_end <= kNoContention * alone ? std::numeric_limits<double>::infinity()
                                                  : alone_end;
}

std::int32_t TraceIndex::binding_predecessor(std::int32_t rank_class, std::int32_t op) const {
  const ProgramIndex& program = program_of(rank_class);
  const TraceOp& what = static_op(rank_class, op);
  const TracePass& pass = pass_of(rank_class, op);
  const std::vector<std::int32_t>& deps = at(trace->templates, pass.pass_template).deps;
  const auto& in_template = at(at(last_in_template, pass.pass_template), op - pass.first_op);
  const auto& before_pass = at(program.last_before_pass, at(program.pass_of_op, op));
  const auto for_each =
      [&](auto&& visit) {  // visit(operation, rank of preference: data 0, order 1)
        for (std::int32_t d = 0; d < what.dep_count; ++d) {
          visit(pass.first_op + at(deps, what.first_dep + d),
                d < what.dep_count - what.order_deps ? 0 : 1);
        }
        if (const std::int32_t previous = at(program.previous, op); previous >= 0) {
          visit(previous, 1);
        }
        for (std::size_t s = 0; what.join != 0 && s < kStreamCount; ++s) {
          if ((what.join & mask(static_cast<Stream>(s))) != 0) {
            const std::int32_t joined =
                in_template[s] >= 0 ? pass.first_op + in_template[s] : before_pass[s];
            if (joined >= 0) {
              visit(joined, 1);
            }
          }
        }
      };
  double latest = 0;
  for_each([&](std::int32_t other, int) { latest = std::max(latest, end_s(rank_class, other)); });
  std::int32_t best = -1;
  int best_kind = 0;
  for_each([&](std::int32_t other, int kind) {
    if (end_s(rank_class, other) >= latest - tie_s &&
        (best < 0 || kind < best_kind ||
         (kind == best_kind && order(rank_class, other) < order(rank_class, best)))) {
      best = other;
      best_kind = kind;
    }
  });
  return best;
}

namespace {

TraceIndex make_plain_index(const Trace& trace, double tie_s) {
  TraceIndex index;
  index.trace = &trace;
  index.tie_s = tie_s;
  for (const TraceProgram& program : trace.programs) {
    index.programs.push_back(index_program(trace, program));
  }
  for (const TraceTemplate& t : trace.templates) {
    index.last_in_template.push_back(last_of_template(t));
  }
  for (const TraceLane& lane : trace.lanes) {
    index.meetings.push_back(meetings_of(index, lane));
  }
  return index;
}

}  // namespace

TraceIndex make_trace_index(const Trace& trace) {
  TraceIndex index = make_plain_index(trace, kSimultaneous * trace.step_s);
  if (!trace.chains.empty()) {
    index.chains = std::make_shared<const ChainsIndex>(make_chains_index(index));
  }
  return index;
}

TraceIndex make_chain_trace_index(const Trace& chain, double tie_s) {
  return make_plain_index(chain, tie_s);
}

}  // namespace shardsim
