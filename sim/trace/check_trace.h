// Static check of a Trace, run after a replay: InternalError naming the rank class and operation.
// Holds afterwards: indices are valid; no operation ends before it starts or starts before what it
// waits for has ended (its stream, its dependencies, its joins); the members of a lane use it
// equally often, and each use ends for all at the same time, not before the last has arrived; the
// step ends with its last operation. Times may differ by 1e-9 of the step (rounding).
#pragma once

#include "trace/trace.h"

namespace shardsim {

void check_trace(const Trace& trace);

}  // namespace shardsim
