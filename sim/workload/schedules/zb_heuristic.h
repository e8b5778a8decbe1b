// One run of the paper's heuristic for a zero-bubble order: see zb_search.cpp.
#pragma once

#include "workload/schedule.h"

namespace shardsim {

inline constexpr double kZbRounding = 1e-9;  // of one activation, or of one unit of cost

struct ZbChoices {
  bool delay_first_backward;  // warm up with one F more, though the first B waits for it
  bool backward_first;        // a stage two F ahead of the next leaves one out if B is near
  bool fill_small_gaps;       // W also into a gap shorter than W that would not set a record
};

// The orders of all stages; each holds `limit` activations (one or more) at most.
[[nodiscard]] StagePasses zb_heuristic(const ScheduleInput& input, double limit, ZbChoices choices);

}  // namespace shardsim
