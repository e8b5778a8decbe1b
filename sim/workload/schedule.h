// Pipeline schedules: pure functions from the pipeline's shape to the order of passes on one stage.
// One file per schedule in workload/schedules/, listed in schedules/table.cpp.
//
// A schedule that splits the backward runs B (gradients of the inputs) and W (of the weights) as
// passes of their own; else a backward pass is both. Costs and memory limit matter to the searched
// schedules only. A shape that a schedule cannot run is told by `objection`; passes() of it is
// undefined.
//
//   passes({.stage = 1, .stages = 2, .micro_batches = 2}) of 1f1b  -> F0 B0 F1 B1
//                                                         of zb-h1 -> F0 B0 F1 B1 W0 W1
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload/program.h"

namespace shardsim {

struct PassCosts {  // relative, for schedules that are searched
  double forward = 1;
  double backward = 1;  // B alone
  double weight = 1;
  double communication = 0;  // from the end of a pass on a neighbour until its message is here
};

struct ScheduleInput {
  std::int32_t stage = 0;
  std::int32_t stages = 1;
  std::int32_t chunks = 1;  // vpp: model chunks per stage
  std::int32_t micro_batches = 1;
  PassCosts costs;
  double memory_limit = 0;  // per stage, in activations of one pass; 0 = the schedule's own
  std::vector<PassCosts> stage_costs{};  // per stage, for uneven stages; empty = `costs` for all
  double weight_share = 1;  // what W still needs after B, as a share of the activation of a pass
};

struct ScheduledPass {
  PassKind kind = PassKind::forward;  // forward, backward (with or without W), weight
  std::int32_t micro_batch = 0;
  std::int32_t chunk = 0;
  // Runs as one with the pass that follows: B with its W is one full backward, whose gradient
  // leaves when both are done; F with a B computes one under the communication of the other. Only
  // dualpipe sets it; F, B and W so joined follow each other directly. To ignore it is legal, and
  // changes times only.
  bool with_next = false;
  bool operator==(const ScheduledPass&) const = default;
};

using StagePasses = std::vector<std::vector<ScheduledPass>>;  // per stage

struct Schedule {
  std::string name;
  std::string help;
  bool splits_backward;  // weight passes are separate
  std::vector<ScheduledPass> (*passes)(const ScheduleInput& input);
  // Problem with this shape in words, or "": e.g. interleaved needs micro_batches >= stages.
  std::string (*objection)(const ScheduleInput& input);
  // Micro batches enter at both ends: each stage holds two parts of the model (vpp stays 1), chunk
  // 0 the one that has its number, run from stage 0 down, and chunk 1 its mirror image's, run from
  // the last stage up. A micro batch passes through one of them: the first half of the micro
  // batches through chunk 0, the second half through chunk 1.
  bool bidirectional = false;
  // Searched schedules: the most activations of one stage, as a multiple of 1F1B's peak, which is
  // one activation per stage of the pipeline; a lower memory_limit of the input rules. Else 0.
  double memory_factor = 0;
  StagePasses (*all_stages)(const ScheduleInput& input) = nullptr;  // if that is less work
};

[[nodiscard]] const std::vector<Schedule>& schedules();
[[nodiscard]] const Schedule& find_schedule(const std::string& name);  // InternalError if unknown

// The passes of all stages; `input.stage` is not read. One search for schedules that are searched.
[[nodiscard]] StagePasses passes_of_stages(const Schedule& schedule, const ScheduleInput& input);

// How many chunks a stage holds, how many parts the model falls into, and which of them, in layer
// order, is a chunk of `input.stage`.
[[nodiscard]] std::int32_t chunks_held(const Schedule& schedule, const ScheduleInput& input);
[[nodiscard]] std::int32_t model_parts(const Schedule& schedule, const ScheduleInput& input);
[[nodiscard]] std::int32_t model_part(const Schedule& schedule, const ScheduleInput& input,
                                      std::int32_t chunk);
// The stage that the output of a chunk's forward goes to, relative to its own and modulo stages: 1
// or -1. Gradients go the other way.
[[nodiscard]] std::int32_t forward_step(const Schedule& schedule, std::int32_t chunk);

}  // namespace shardsim
