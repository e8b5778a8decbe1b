// When does each event happen? Replays a folded job on SimGrid and returns its trace.
//
// Folded -> Trace (seconds from the start of the step). The order of operations is a DAG of our
// own; SimGrid keeps the clock and shares links among the flows that contend (one Comm per flow,
// max-min fair on rates). What takes a fixed time once it has started (a kernel, a latency, a chain
// of operations, a flow whose links no other lane uses) ends at a moment known beforehand and needs
// no event there (events.cpp). Results do not depend on the order in which simultaneous events are
// handled.
//
// SimGrid has one engine, one clock and one configuration per process, so `replay` can run once per
// process and only when no engine has existed before; `replay_in_child` forks and has no such
// limit. Several children may run at the same time: start them all, then finish them.
//
// Errors: InternalError when operations are left that never could start (it names some of them),
// or when a child dies.
//
//   Trace trace = replay_in_child(folded, &fabric);
//   trace.step_s;
#pragma once

#include "fold/folded.h"
#include "platform/fabric.h"
#include "trace/trace.h"

namespace shardsim {

// `fabric` gives the links their names; without it they are called "link 7".
[[nodiscard]] Trace replay(const Folded& folded, const Fabric* fabric = nullptr);
[[nodiscard]] Trace replay_in_child(const Folded& folded, const Fabric* fabric = nullptr);

// A replay that runs in a forked child. Only times travel back, through a pipe.
struct ReplayChild {
  int process = 0;
  int pipe = 0;
};
[[nodiscard]] ReplayChild start_replay(const Folded& folded);
// REQUIRES: the same Folded that the child was started with. Call exactly once per child.
[[nodiscard]] Trace finish_replay(const ReplayChild& child, const Folded& folded,
                                  const Fabric* fabric = nullptr);

}  // namespace shardsim
