#include <algorithm>
#include <map>
#include <utility>

#include "base/errors.h"
#include "replay/times.h"

namespace shardsim {
namespace {

TraceOp trace_op(const LoweredOp& op) {
  return {.stream = op.stream,
          .category = op.category,
          .is_flow = op.is_flow,
          .join = op.join,
          .first_dep = op.first_dep,
          .dep_count = op.dep_count,
          .label = op.label,
          .layer = op.layer,
          .slot = op.slot,
          .duration_s = op.duration.value(),
          .steps = op.steps,
          .amount = op.amount,
          .message = op.message,
          .order = op.order,
          .order_deps = op.order_deps,
          .part = op.part,
          .stands_on = op.stands_on};
}

TraceTemplate trace_template(const LoweredTemplate& lowered) {
  TraceTemplate result{.name = lowered.name,
                       .kind = lowered.kind,
                       .ops = {},
                       .deps = lowered.deps,
                       .uncoalesced_ops = lowered.uncoalesced_ops};
  result.ops.reserve(lowered.ops.size());
  for (const LoweredOp& op : lowered.ops) {
    result.ops.push_back(trace_op(op));
  }
  return result;
}

TraceProgram trace_program(const Folded& folded, const LoweredProgram& program) {
  TraceProgram result;
  result.stage = program.stage;
  std::int32_t first = 0;
  for (const LoweredPass& pass : program.passes) {
    result.passes.push_back({.pass_template = pass.pass_template,
                             .micro_batch = pass.micro_batch,
                             .chunk = pass.chunk,
                             .first_op = first});
    first += count(at(folded.templates, pass.pass_template).ops);
  }
  for (const Slot& slot : program.slots) {
    result.slot_groups.push_back(slot.group);
    result.slot_algorithms.push_back(slot.algorithm);
    result.slot_roles.push_back(slot.role);
  }
  return result;
}

TraceLane trace_lane(const Folded& folded, const LaneClass& lane) {
  TraceLane result{.size = lane.size,
                   .member_rank_class = {},
                   .member_slot = {},
                   .hop_latency_s = lane.hop_latency.value(),
                   .pace_alone_Bps = lane.pace_alone.value(),
                   .bound_link = lane.bound_link};
  for (std::int32_t m = 0; m < lane.member_count; ++m) {
    const LaneMember& member = at(folded.members, lane.first_member + m);
    result.member_rank_class.push_back(member.rank_class);
    result.member_slot.push_back(member.slot);
  }
  return result;
}

// What happens inside a chain, seen from its start: one pass per rank of the domain.
Trace chain_trace(const Chain& chain) {
  Trace trace;
  for (std::size_t i = 0; i < chain.lanes.size(); ++i) {
    TraceLane lane{.size = 1,
                   .member_rank_class = {},
                   .member_slot = {},
                   .hop_latency_s = chain.lanes[i].hop_latency.value(),
                   .pace_alone_Bps = chain.lanes[i].pace_alone.value()};
    for (const LaneMember& member : chain.lanes[i].members) {
      lane.member_rank_class.push_back(member.rank_class);
      lane.member_slot.push_back(member.slot);
    }
    trace.lanes.push_back(std::move(lane));
  }
  for (std::int32_t i = 0; i < count(chain.ranks); ++i) {
    const ChainRank& rank = at(chain.ranks, i);
    trace.heads.push_back(rank.head);
    trace.templates.push_back(trace_template(rank.body));
    TraceProgram program;
    program.passes.push_back({.pass_template = i});
    program.slot_groups.resize(static_cast<std::size_t>(rank.slot_count));
    program.slot_algorithms.resize(static_cast<std::size_t>(rank.slot_count));
    program.slot_roles.resize(static_cast<std::size_t>(rank.slot_count));
    trace.programs.push_back(std::move(program));
    trace.ranks.push_back({.representative = i,
                           .size = 1,
                           .program = i,
                           .slot_lanes = at(chain.slot_lanes, i),
                           .start_s = rank.start_s,
                           .end_s = rank.end_s});
    for (const double end : rank.end_s) {
      trace.step_s = std::max(trace.step_s, end);
    }
  }
  return trace;
}

void add_chains(const Folded& folded, Trace& trace) {
  trace.chains.reserve(folded.chains.size());
  for (const Chain& chain : folded.chains) {
    trace.chains.push_back(chain_trace(chain));
  }
  trace.parts.reserve(folded.parts.size());
  for (const ChainPart& part : folded.parts) {
    trace.parts.push_back({.chain = part.chain,
                           .rank = part.rank,
                           .exit = part.exit,
                           .start_s = part.start_s,
                           .end_s = part.end_s,
                           .on_compute = part.on_compute});
  }
  trace.domains = folded.domains;
  trace.domain_of_class = folded.domain_of_class;
}

// Bytes per unit of weight that the operations of a template move through each slot.
void add_amounts(const Folded& folded, const LoweredTemplate& from, std::vector<double>& amounts) {
  for (std::int32_t i = 0; i < count(from.ops); ++i) {
    const LoweredOp& op = at(from.ops, i);
    if (op.is_flow) {
      at(amounts, op.slot) += op.amount;
    }
    if (op.part < 0) {
      continue;
    }
    const ChainPart& part = at(folded.parts, op.part);
    const ChainRank& rank = at(at(folded.chains, part.chain).ranks, part.rank);
    if (rank.head == i) {
      add_amounts(folded, rank.body, amounts);
    }
  }
}

// Bytes per unit of weight that each slot of each program moves in a step.
std::vector<std::vector<double>> slot_amounts(const Folded& folded) {
  std::vector<std::vector<double>> result(folded.programs.size());
  for (std::size_t p = 0; p < folded.programs.size(); ++p) {
    const LoweredProgram& program = folded.programs[p];
    result[p].assign(program.slots.size(), 0.0);
    std::vector<std::int64_t> passes(folded.templates.size(), 0);
    for (const LoweredPass& pass : program.passes) {
      ++at(passes, pass.pass_template);
    }
    std::vector<double> amounts;
    for (std::size_t t = 0; t < passes.size(); ++t) {
      if (passes[t] == 0) {
        continue;
      }
      amounts.assign(program.slots.size(), 0.0);
      add_amounts(folded, folded.templates[t], amounts);
      for (std::size_t slot = 0; slot < amounts.size(); ++slot) {
        result[p][slot] += static_cast<double>(passes[t]) * amounts[slot];
      }
    }
  }
  return result;
}

void add_link_bytes(const Folded& folded, Trace& trace) {
  const auto amounts = slot_amounts(folded);
  for (std::size_t i = 0; i < folded.lanes.size(); ++i) {
    const LaneClass& lane = folded.lanes[i];
    if (lane.member_count == 0) {
      continue;
    }
    const LaneMember& member = at(folded.members, lane.first_member);
    const std::int32_t program = at(folded.ranks, member.rank_class).program;
    const double amount = at(at(amounts, program), member.slot);
    const std::string& group = at(at(folded.programs, program).slots, member.slot).group;
    const std::int32_t last = folded.first_load[i + 1];
    for (std::int32_t l = folded.first_load[i]; l < last; ++l) {
      const LinkLoad& load = at(folded.loads, l);
      TraceLink& link = at(trace.links, load.link_class);
      const double bytes = amount * static_cast<double>(load.weight);
      link.bytes += bytes;
      auto user = std::find_if(link.users.begin(), link.users.end(),
                               [&](const TraceLinkUser& u) { return u.group == group; });
      if (user == link.users.end()) {
        user = link.users.insert(user, {.group = group, .bytes = 0});
      }
      user->bytes += bytes;
    }
  }
}

std::string name_of(const Fabric* fabric, LinkId link) {
  return fabric != nullptr ? link_name(*fabric, link) : "link " + std::to_string(link);
}

}  // namespace

Trace make_trace(const Folded& folded, const Fabric* fabric, Times&& times) {
  Trace trace;
  trace.labels = folded.labels;
  for (const LoweredTemplate& lowered : folded.templates) {
    trace.templates.push_back(trace_template(lowered));
  }
  for (const LoweredProgram& program : folded.programs) {
    trace.programs.push_back(trace_program(folded, program));
  }
  for (const LaneClass& lane : folded.lanes) {
    trace.lanes.push_back(trace_lane(folded, lane));
  }
  for (const LinkClass& link : folded.links) {
    trace.links.push_back({.name = name_of(fabric, link.representative),
                           .size = link.size,
                           .capacity = link.capacity,
                           .bytes = 0,
                           .users = {}});
  }
  add_link_bytes(folded, trace);
  add_chains(folded, trace);
  trace.ranks.reserve(folded.ranks.size());
  for (std::size_t i = 0; i < folded.ranks.size(); ++i) {
    const RankClass& rank = folded.ranks[i];
    const auto slots = folded.slot_lanes.begin() + rank.first_slot;
    TraceRank row{.representative = rank.representative,
                  .size = rank.size,
                  .program = rank.program,
                  .slot_lanes = {slots, slots + rank.slot_count},
                  .start_s = std::move(times.ranks[i].start_s),
                  .end_s = std::move(times.ranks[i].end_s)};
    for (const double end : row.end_s) {
      trace.step_s = std::max(trace.step_s, end);
    }
    trace.counts.ranks += rank.size;
    trace.ranks.push_back(std::move(row));
  }
  trace.counts.rank_classes = count(folded.ranks);
  trace.counts.timers = times.timers;
  trace.counts.flows = times.flows;
  return trace;
}

}  // namespace shardsim
