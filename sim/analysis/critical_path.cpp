#include <algorithm>

#include "analysis/parts.h"
#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

struct Place {
  std::int32_t rank = 0;
  std::int32_t op = -1;
};

// The operation that ends the step; among simultaneous ones the lower operation, then lower rank.
Place last_operation(const TraceIndex& index) {
  const Trace& trace = *index.trace;
  Place best;
  for (std::int32_t r = 0; r < count(trace.ranks); ++r) {
    const std::vector<double>& ends = at(trace.ranks, r).end_s;
    for (std::int32_t op = 0; op < count(ends); ++op) {
      if (at(ends, op) >= trace.step_s - index.tie_s) {
        const bool lower = best.op < 0 || op < best.op ||
                           (op == best.op && at(trace.ranks, r).representative <
                                                 at(trace.ranks, best.rank).representative);
        best = lower ? Place{r, op} : best;
        break;  // later operations of this rank are higher
      }
    }
  }
  return best;
}

// The segment of operation `op` from `start` to `end`, which is the start that it bound.
PathSegment make_segment(const TraceIndex& index, const Place& place, double start, double end) {
  const TraceOp& what = index.static_op(place.rank, place.op);
  PathSegment segment;
  segment.start_s = start;
  segment.end_s = end;
  segment.bin = bin_of(what.category);
  segment.stage = index.stage(place.rank);
  segment.rank_class = place.rank;
  segment.op = place.op;
  segment.micro_batch = index.pass_of(place.rank, place.op).micro_batch;
  segment.layer = what.layer;
  segment.label = what.label;
  if (what.is_flow) {
    segment.contention_s = end - std::clamp(index.alone_end_s(place.rank, place.op), start, end);
    const std::int32_t link =
        at(index.trace->lanes, index.lane_of(place.rank, place.op)).bound_link;
    segment.link = link >= 0 ? at(index.trace->links, link).name : "";
  }
  return segment;
}

// Moves to the member that arrived last at the flow; timers bind themselves.
Place binding_member(const TraceIndex& index, const Place& place) {
  if (!index.static_op(place.rank, place.op).is_flow) {
    return place;
  }
  const TraceLane& lane = at(index.trace->lanes, index.lane_of(place.rank, place.op));
  const std::int32_t member = index.meeting(place.rank, place.op).last_member;
  const std::int32_t rank = at(lane.member_rank_class, member);
  const ProgramIndex& program = index.program_of(rank);
  const std::int32_t use = at(index.program_of(place.rank).use, place.op);
  return {rank, at(at(program.slot_ops, at(lane.member_slot, member)), use)};
}

Breakdown sum_segments(const std::vector<PathSegment>& segments) {
  std::array<Sum, kBinCount> sums;
  for (const PathSegment& segment : segments) {
    const double alone = (segment.end_s - segment.start_s) - segment.contention_s;
    sums[static_cast<std::size_t>(segment.bin)].add(alone);
    sums[static_cast<std::size_t>(Bin::contention)].add(segment.contention_s);
  }
  Breakdown result;
  for (std::size_t b = 0; b < kBinCount; ++b) {
    result.seconds[b] = sums[b].value();
  }
  return result;
}

}  // namespace

CriticalPath critical_path(const TraceIndex& index) {
  CriticalPath path;
  double now = index.trace->step_s;
  Place place = last_operation(index);
  while (now > 0) {
    SHARDSIM_CHECK(place.op >= 0, "the critical path ends before time zero");
    const bool is_flow = index.static_op(place.rank, place.op).is_flow;
    const double own_start =
        is_flow ? index.meeting(place.rank, place.op).begin_s : index.start_s(place.rank, place.op);
    const Place member = binding_member(index, place);
    const std::int32_t before = index.binding_predecessor(member.rank, member.op);
    // What starts without a predecessor starts at zero; less than a tie later is rounding.
    const double start = before < 0 && own_start <= index.tie_s ? 0 : std::min(own_start, now);
    if (start < now) {
      path.segments.push_back(make_segment(index, place, start, now));
    }
    now = start;
    place = {member.rank, before};
  }
  std::reverse(path.segments.begin(), path.segments.end());
  path.by_category = sum_segments(path.segments);
  return path;
}

CriticalPath critical_path(const Trace& trace) { return critical_path(make_trace_index(trace)); }

}  // namespace shardsim
