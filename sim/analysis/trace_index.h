// What every analysis asks of a trace: who came before an operation, and when a flow really began.
//
// Times in seconds from the step's start. An operation waits for the one before it on its stream,
// for its dependencies, and for the last one before it on each stream it joins. A flow begins when
// the last member of its lane has arrived; alone it takes latency + amount / pace, and what it
// takes longer is contention.
//
//   members arrive at 1 s and 3 s, 0.5 s latency, 2 s of bytes, end 6 s:
//   begin 3, alone until 5.5, contention 0.5 s
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/trace.h"

namespace shardsim {

struct Meeting {  // one use of a lane
  double begin_s = 0;
  std::int32_t last_member = 0;  // that arrived last, index in the lane's members
};

struct ProgramIndex {
  std::vector<std::int32_t> pass_of_op;
  std::vector<std::int32_t> previous;               // on the same stream, -1 = none
  std::vector<std::int32_t> use;                    // flows: which use of their slot, else -1
  std::vector<std::vector<std::int32_t>> slot_ops;  // per slot, in order of use
  std::vector<std::int32_t> compute_ops;            // operations of the compute stream, in order
  std::vector<std::int32_t> first_order;  // per pass: operations before it, before coalescing
  std::vector<std::int32_t> passes_of_template;
  // Per pass and stream: the last operation enqueued before the pass, -1 = none.
  std::vector<std::array<std::int32_t, kStreamCount>> last_before_pass;
};

struct ChainsIndex;

struct TraceIndex {
  const Trace* trace = nullptr;
  double tie_s = 0;  // ends that differ by no more are simultaneous: 1e-9 of the step (DESIGN)
  std::vector<ProgramIndex> programs;
  // Per template, operation and stream: the last one before it in the template, -1 = none.
  std::vector<std::vector<std::array<std::int32_t, kStreamCount>>> last_in_template;
  std::vector<std::vector<Meeting>> meetings;  // per lane and use
  std::shared_ptr<const ChainsIndex> chains;   // of a coalesced trace

  [[nodiscard]] const ProgramIndex& program_of(std::int32_t rank_class) const;
  [[nodiscard]] const TracePass& pass_of(std::int32_t rank_class, std::int32_t op) const;
  [[nodiscard]] const TraceOp& static_op(std::int32_t rank_class, std::int32_t op) const;
  [[nodiscard]] double start_s(std::int32_t rank_class, std::int32_t op) const;
  [[nodiscard]] double end_s(std::int32_t rank_class, std::int32_t op) const;
  [[nodiscard]] std::int32_t stage(std::int32_t rank_class) const;
  // Number of the operation before coalescing: ties go by it.
  [[nodiscard]] std::int32_t order(std::int32_t rank_class, std::int32_t op) const;

  // REQUIRES: the operation is a flow.
  [[nodiscard]] std::int32_t lane_of(std::int32_t rank_class, std::int32_t op) const;
  [[nodiscard]] const Meeting& meeting(std::int32_t rank_class, std::int32_t op) const;
  // When the flow would have ended had nothing shared its links; infinite when it ended no later.
  [[nodiscard]] double alone_end_s(std::int32_t rank_class, std::int32_t op) const;

  // The predecessor that ended last; among simultaneous ones data (dependencies) before stream
  // order (the same stream, joins), then the lower operation. -1 = none.
  [[nodiscard]] std::int32_t binding_predecessor(std::int32_t rank_class, std::int32_t op) const;
};

// REQUIRES: check_trace holds; `trace` outlives the index.
[[nodiscard]] TraceIndex make_trace_index(const Trace& trace);
// Of a chain's trace, whose ties are those of the whole.
[[nodiscard]] TraceIndex make_chain_trace_index(const Trace& chain, double tie_s);

}  // namespace shardsim
