// When does each operation of a pass template happen, as far as that is fixed beforehand?
//
// Rank classes joined by private lanes run in lockstep: they form a *domain*. Within one pass of a
// domain, every operation is placed in a *chain*: a moment that only the replay knows (the chain's
// start) plus a fixed number of seconds. An operation belongs to the newest chain among what it
// waits for if everything else that it waits for has surely ended by then; what is known of an
// older chain is a lower bound of how much earlier it started. Otherwise its own start begins a new
// chain. A flow of a private lane belongs to a chain if all of its members arrive in that chain. A
// flow that several classes meet at from different chains, or that contends, is *free*: the moment
// at which it ends begins a new chain.
//
//   begin (joins host, tp) | kernel 2 s | all_reduce 1 s | kernel 2 s (waits for a gather) ...
//   chain 0 from `begin`: kernel at 0, all_reduce at 2, ends at 3; the last kernel begins chain 1
//
// Cost: linear in operations, times the number of chains of a template where chains begin.
#pragma once

#include <cstdint>
#include <vector>

#include "fold/folded.h"

namespace shardsim {

// What each operation of a template waits for: earlier operations of the template, and the last
// operations on some streams before it.
struct Waits {
  std::vector<std::int32_t> first;    // per operation, into ops; size operations + 1
  std::vector<std::int32_t> ops;      // dependencies first, then the order of streams
  std::vector<StreamMask> entry;      // per operation
  std::vector<std::uint8_t> is_data;  // per entry of ops: a dependency
};
[[nodiscard]] Waits make_waits(const LoweredTemplate& from);

struct DomainLane {
  std::vector<LaneMember> members;  // rank_class = index into Domain::classes
  Seconds hop_latency{};
  BytesPerSecond pace_alone{};
  double pace_Bps = 0;
};

struct DomainClass {
  double speed = 1;
  StreamMask safe_streams = 0;           // see coalesce.cpp
  std::vector<std::int32_t> slot_lanes;  // Domain::lanes, -1 = not of the domain
};

struct Domain {
  std::vector<DomainClass> classes;
  std::vector<DomainLane> lanes;
  double tie_s = 0;  // ends that differ by no more may be simultaneous to an analysis
};

struct OpPlace {
  std::int32_t chain = -1;
  bool is_free = false;  // its end is the start of `chain`
  double start_s = 0;    // from the chain's start
  double end_s = 0;
};

struct ChainStart {
  std::int32_t rank = -1;  // class whose operation `op` starts the chain
  std::int32_t op = -1;    // -1: the end of what a stream held before the pass
};

struct Placement {
  std::vector<std::vector<OpPlace>> places;  // per class and operation
  std::vector<ChainStart> chains;
  // [chain][older chain]: the chain starts at least so much later; -inf = unknown.
  std::vector<std::vector<double>> later_by;
  // Per class and stream: the chain that starts when what the stream held before the pass has
  // ended, -1 = nothing waits for it.
  std::vector<std::vector<std::int32_t>> entry_chain;

  // Whether what ends at `offset` of `older` has surely ended by `limit` of `chain`.
  [[nodiscard]] bool ended_by(std::int32_t older, double offset, std::int32_t chain,
                              double limit) const;
};

// One template per class of the domain. Empty places when the classes do not run their private
// lanes in step there.
[[nodiscard]] Placement place_operations(const Domain& domain,
                                         const std::vector<const LoweredTemplate*>& templates,
                                         const std::vector<const Waits*>& waits);

[[nodiscard]] double timer_seconds(const LoweredOp& op, double speed);

}  // namespace shardsim
