#include "trace/dump_trace.h"

#include <fmt/format.h>

#include "base/ids.h"

namespace shardsim {
namespace {

void dump_rank(const Trace& trace, std::int32_t index, std::string& text) {
  const TraceRank& rank = at(trace.ranks, index);
  const TraceProgram& program = at(trace.programs, rank.program);
  text += fmt::format("class {} rank {} size {} program {} stage {}\n", index, rank.representative,
                      rank.size, rank.program, program.stage);
  for (std::int32_t p = 0; p < count(program.passes); ++p) {
    const TracePass& pass = at(program.passes, p);
    const TraceTemplate& t = at(trace.templates, pass.pass_template);
    text += fmt::format("  pass {} {} micro batch {} chunk {}\n", p, t.name, pass.micro_batch,
                        pass.chunk);
    for (std::int32_t i = 0; i < count(t.ops); ++i) {
      const TraceOp& op = at(t.ops, i);
      text += fmt::format("    op {} [{:.12f}, {:.12f}] {} {} \"{}\"", pass.first_op + i,
                          at(rank.start_s, pass.first_op + i), at(rank.end_s, pass.first_op + i),
                          name(op.stream), name(op.category), at(trace.labels, op.label));
      text += op.layer < 0 ? "" : fmt::format(" layer {}", op.layer);
      text += op.is_flow
                  ? fmt::format(" lane {} {} B", at(rank.slot_lanes, op.slot), op.message.value())
                  : "";
      text += "\n";
    }
  }
}

void dump_lane(const Trace& trace, std::int32_t index, std::string& text) {
  const TraceLane& lane = at(trace.lanes, index);
  text += fmt::format("lane {} size {} hop latency {} s pace alone {} B/s", index, lane.size,
                      lane.hop_latency_s, lane.pace_alone_Bps);
  text += lane.bound_link < 0 ? "" : " bound by " + at(trace.links, lane.bound_link).name;
  text += " members";
  for (std::int32_t m = 0; m < count(lane.member_rank_class); ++m) {
    text += fmt::format(" {}.{}", at(lane.member_rank_class, m), at(lane.member_slot, m));
  }
  text += "\n";
}

}  // namespace

std::string dump_trace(const Trace& trace) {
  std::string text = fmt::format("step {:.12f} s ranks {} classes {} timers {} flows {}\n",
                                 trace.step_s, trace.counts.ranks, trace.counts.rank_classes,
                                 trace.counts.timers, trace.counts.flows);
  for (std::int32_t i = 0; i < count(trace.ranks); ++i) {
    dump_rank(trace, i, text);
  }
  for (std::int32_t i = 0; i < count(trace.lanes); ++i) {
    dump_lane(trace, i, text);
  }
  for (const TraceLink& link : trace.links) {
    text += fmt::format("link {} size {} capacity {} B/s bytes {}", link.name, link.size,
                        link.capacity.value(), link.bytes);
    for (const TraceLinkUser& user : link.users) {
      text += fmt::format(" {} {}", user.group, user.bytes);
    }
    text += "\n";
  }
  return text;
}

}  // namespace shardsim
