// Chains of operations as single events, with the same times: Folded -> Folded, exactly.
//
// Rank classes joined by lanes that nothing contends (private_lanes.h) run in lockstep. What they
// do in a pass between two moments that only the replay knows takes a fixed time (lockstep.h), so
// it is replayed as one timer, or as several where something outside waits for its middle
// (chain_parts.h). Each chain keeps its operations with their times, computed once per template and
// kind of domain (speeds, paces, latencies); the trace carries them, and an analysis finds in them
// what a replay of every operation would have shown.
//
// Ends of chains follow the DAG, not the stream: a collective in flight when the last kernel of a
// pass has ended is told by a part of its own, for the next pass may or may not wait for it.
//
// What is not of a chain stays as it is: flows that contend, messages between stages, step begin
// and end. Times, bytes and members of lanes do not change; the number of operations does.
//
//   Folded coalesced = coalesce(fold(lowered));
//   replay(coalesced).step_s == replay(fold(lowered)).step_s   // to rounding
//
// Cost: linear in the operations of the templates for each kind of domain, plus the passes.
#pragma once

#include "fold/folded.h"

namespace shardsim {

enum class CoalesceMode { automatic, off };

[[nodiscard]] Folded coalesce(Folded folded);

}  // namespace shardsim
