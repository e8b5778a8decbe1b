// Lowered jobs written by hand, for tests of folding and replay: each rank one pass of one
// template.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lowering/lowered.h"

namespace shardsim {

// A timer, or a flow when it has a slot. Deps are indices of earlier operations of the program.
struct HandOp {
  Stream stream = Stream::compute;
  double seconds = 0;  // timer: how long; flow: software latency
  std::int32_t slot = -1;
  double amount = 0;
  double steps = 0;
  std::vector<std::int32_t> deps{};
  StreamMask join = 0;
};

inline HandOp kernel(double seconds, std::vector<std::int32_t> deps = {}) {
  return {.seconds = seconds, .deps = std::move(deps)};
}
inline HandOp flow(std::int32_t slot, double amount, std::vector<std::int32_t> deps = {},
                   Stream stream = Stream::dp) {
  return {.stream = stream, .slot = slot, .amount = amount, .deps = std::move(deps)};
}

class HandJob {
 public:
  LinkId add_link(double bytes_per_second, bool can_bind = true) {
    lowered.link_capacity.emplace_back(bytes_per_second);
    lowered.link_can_bind.push_back(can_bind ? 1 : 0);
    return count(lowered.link_capacity) - 1;
  }

  // REQUIRES: links rise.
  LaneId add_lane(const std::vector<LinkUse>& uses, double hop_latency_s = 0,
                  std::int32_t kind = 0) {
    lowered.lanes.push_back({.kind = kind,
                             .hop_latency = Seconds{hop_latency_s},
                             .first_use = count(lowered.uses),
                             .use_count = count(uses)});
    lowered.uses.insert(lowered.uses.end(), uses.begin(), uses.end());
    return count(lowered.lanes) - 1;
  }

  // A program that runs the operations once per micro batch.
  std::int32_t add_program(const std::vector<HandOp>& ops, std::int32_t micro_batches = 1) {
    LoweredTemplate pass{.source = count(lowered.templates), .name = "pass"};
    std::int32_t slots = 0;
    for (const HandOp& op : ops) {
      pass.ops.push_back({.is_flow = op.slot >= 0,
                          .stream = op.stream,
                          .join = op.join,
                          .first_dep = count(pass.deps),
                          .dep_count = count(op.deps),
                          .source = count(pass.ops),
                          .slot = op.slot,
                          .duration = Seconds{op.seconds},
                          .steps = op.steps,
                          .amount = op.amount});
      pass.deps.insert(pass.deps.end(), op.deps.begin(), op.deps.end());
      slots = std::max(slots, op.slot + 1);
    }
    LoweredProgram program{.source = count(lowered.programs)};
    for (std::int32_t i = 0; i < micro_batches; ++i) {
      program.passes.push_back({.pass_template = count(lowered.templates), .micro_batch = i});
    }
    for (std::int32_t i = 0; i < slots; ++i) {
      program.slots.push_back({.group = "dp", .algorithm = "ring"});
    }
    lowered.templates.push_back(std::move(pass));
    lowered.programs.push_back(std::move(program));
    return count(lowered.programs) - 1;
  }

  Rank add_rank(std::int32_t program, const std::vector<LaneId>& lanes = {}, double speed = 1.0) {
    if (lowered.first_slot.empty()) {
      lowered.first_slot.push_back(0);
    }
    lowered.program_of_rank.push_back(program);
    lowered.speed_of_rank.push_back(speed);
    lowered.slot_lanes.insert(lowered.slot_lanes.end(), lanes.begin(), lanes.end());
    lowered.first_slot.push_back(count(lowered.slot_lanes));
    return count(lowered.program_of_rank) - 1;
  }

  // A rank that does nothing but one flow.
  Rank add_lone_flow(const std::vector<LinkUse>& uses, double amount) {
    const LaneId lane = add_lane(uses);
    return add_rank(add_program({flow(0, amount)}), {lane});
  }

  Lowered lowered;
};

}  // namespace shardsim
