#include <algorithm>

#include "analysis/chain_index.h"
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
      if (at(ends, op) < trace.step_s - index.tie_s) {
        continue;
      }
      const std::int32_t order = index.order(r, op);
      const std::int32_t least = best.op < 0 ? order + 1 : index.order(best.rank, best.op);
      const bool lower =
          order < least || (order == least && at(trace.ranks, r).representative <
                                                  at(trace.ranks, best.rank).representative);
      best = lower ? Place{r, op} : best;
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
    segment.link = at(index.trace->lanes, index.lane_of(place.rank, place.op)).bound_link;
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

class PathWalk {
 public:
  PathWalk(const TraceIndex& index, std::vector<PathSegment>& segments)
      : index_(index), segments_(segments) {}

  // Backwards from the end of an operation, at `now`, to time zero. Returns the rank where the path
  // begins.
  std::int32_t run(Place place, double now) {
    while (now > 0) {
      SHARDSIM_CHECK(place.op >= 0, "the critical path ends before time zero");
      const std::int32_t part = index_.static_op(place.rank, place.op).part;
      now = part >= 0 ? through_chain(place, part, now) : through_op(place, now);
    }
    return place.rank;
  }

 private:
  // What starts without a predecessor starts at zero; less than a tie later is rounding.
  [[nodiscard]] double start_of(std::int32_t before, double own_start, double now) const {
    return before < 0 && own_start <= index_.tie_s ? 0 : std::min(own_start, now);
  }

  double through_op(Place& place, double now) {
    const bool is_flow = index_.static_op(place.rank, place.op).is_flow;
    const double own_start = is_flow ? index_.meeting(place.rank, place.op).begin_s
                                     : index_.start_s(place.rank, place.op);
    const Place member = binding_member(index_, place);
    const std::int32_t before = index_.binding_predecessor(member.rank, member.op);
    const double start = start_of(before, own_start, now);
    if (start < now) {
      segments_.push_back(make_segment(index_, place, start, now));
    }
    place = {member.rank, before};
    return start;
  }

  // The operation of another rank of the domain that starts the chain in the same pass.
  [[nodiscard]] Place head(const Place& place, const TracePart& part, std::int32_t rank) const {
    const Trace& trace = *index_.trace;
    const std::int32_t pass = at(index_.program_of(place.rank).pass_of_op, place.op);
    const std::int32_t other = at(at(trace.domains, at(trace.domain_of_class, place.rank)), rank);
    const TraceProgram& program = at(trace.programs, at(trace.ranks, other).program);
    return {other,
            at(program.passes, pass).first_op + at(at(trace.chains, part.chain).heads, rank)};
  }

  double through_chain(Place& place, std::int32_t number, double now) {
    const TracePart& part = at(index_.trace->parts, number);
    const PartIndex& known = at(index_.chains->parts, number);
    const Place own_head = head(place, part, part.rank);
    const double shift = index_.start_s(own_head.rank, own_head.op);
    const Place left = head(place, part, known.path_rank);
    const std::int32_t before = index_.binding_predecessor(left.rank, left.op);
    const double begin = start_of(before, shift, now);
    for (std::size_t i = 0; i < known.path.size(); ++i) {
      const bool last = i + 1 == known.path.size();
      const double start = last ? begin : std::min(known.path[i].start_s + shift, now);
      if (start < now) {
        segments_.push_back(moved(known.path[i], place, part, start, now));
        now = start;
      }
    }
    place = {left.rank, before};
    return begin;
  }

  // A segment of a chain's path where and when the chain takes place.
  [[nodiscard]] PathSegment moved(PathSegment segment, const Place& place, const TracePart& part,
                                  double start, double end) const {
    const Place where = head(place, part, segment.rank_class);
    const TraceIndex& inside = at(index_.chains->chains, part.chain).inside;
    const TraceOp& what = inside.static_op(segment.rank_class, segment.op);
    if (what.is_flow) {
      const std::int32_t lane = at(at(index_.trace->ranks, where.rank).slot_lanes, what.slot);
      segment.link = at(index_.trace->lanes, lane).bound_link;
    }
    segment.start_s = start;
    segment.end_s = end;
    segment.stage = index_.stage(where.rank);
    segment.rank_class = where.rank;
    segment.op = where.op;
    segment.micro_batch = index_.pass_of(where.rank, where.op).micro_batch;
    return segment;
  }

  const TraceIndex& index_;
  std::vector<PathSegment>& segments_;
};

}  // namespace

std::int32_t path_back(const TraceIndex& index, std::int32_t rank_class, std::int32_t op,
                       std::vector<PathSegment>& segments) {
  return PathWalk(index, segments).run({rank_class, op}, index.end_s(rank_class, op));
}

CriticalPath critical_path(const TraceIndex& index) {
  CriticalPath path;
  PathWalk(index, path.segments).run(last_operation(index), index.trace->step_s);
  std::reverse(path.segments.begin(), path.segments.end());
  for (PathSegment& segment : path.segments) {
    segment.chunk = index.pass_of(segment.rank_class, segment.op).chunk;
  }
  path.by_category = sum_segments(path.segments);
  settle(path.by_category, index.trace->step_s, index.trace->step_s);
  return path;
}

CriticalPath critical_path(const Trace& trace) { return critical_path(make_trace_index(trace)); }

}  // namespace shardsim
