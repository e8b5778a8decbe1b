// Runs the events of a folded job and gives the bare times; trace_rows.h makes a Trace of them.
#pragma once

#include <vector>

#include "fold/folded.h"
#include "platform/fabric.h"
#include "trace/trace.h"

namespace shardsim {

struct RankTimes {  // of one rank class, by operation through its passes
  std::vector<double> start_s;
  std::vector<double> end_s;
};

struct Times {
  std::vector<RankTimes> ranks;
  std::int64_t timers = 0;  // ends at a fixed time after what they waited for
  std::int64_t flows = 0;   // that contended and so were SimGrid's
};

// REQUIRES: no SimGrid engine ever existed in this process. InternalError if operations are left.
[[nodiscard]] Times run_events(const Folded& folded);

// The static part of the trace, and the times moved into it. Bytes per link and their users are
// summed here from the unsimplified loads.
[[nodiscard]] Trace make_trace(const Folded& folded, const Fabric* fabric, Times&& times);

}  // namespace shardsim
