// How long one layer takes in a pass, as papers print it: from the start of its first operation to
// the end of its last, so that exposed communication and recomputation count.
#pragma once

#include "trace/trace.h"

namespace shardsim {

struct LayerTime {
  double forward_s = 0;
  double backward_s = 0;  // with its recomputation and weight gradients
};

// Of the middle layer in the first passes of the first rank class; gradient reduction left out.
// REQUIRES: a trace that is not coalesced. InternalError when no pass has a layer.
[[nodiscard]] LayerTime layer_time(const Trace& trace);

}  // namespace shardsim
