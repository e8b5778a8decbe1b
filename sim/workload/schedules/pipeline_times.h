// How long a pipeline of one chunk per stage takes whose backward is split: a pass starts when its
// stage is free and its message has arrived; W needs its own B only. Overlap with communication is
// complete, as far as the order allows.
//
// REQUIRES an order that does not wait for ever (InternalError).
#pragma once

#include "workload/schedule.h"

namespace shardsim {

struct PipelineTimes {       // in the unit of the costs
  double longest_stage = 0;  // from a stage's first pass to the end of its last, the longest
  double end = 0;            // of the whole
};

[[nodiscard]] PassCosts costs_of(const ScheduleInput& input, std::int32_t stage);
[[nodiscard]] PipelineTimes pipeline_times(const StagePasses& stages, const ScheduleInput& input);

// Most activations that a stage holds at once: one from F to B, `weight_share` of it from B to W.
[[nodiscard]] double peak_activations(const std::vector<ScheduledPass>& passes,
                                      double weight_share);

}  // namespace shardsim
