// The compute stream of one rank class cut into pieces, each with the bin that explains it.
//
// TraceIndex -> pieces that abut (in no particular order within a gap) from 0 to the step's end, in
// seconds. A running operation is in its own bin. A gap is explained from its end: the operation
// that ends it was bound by its latest predecessor, that one by its own, ... back to the gap's
// start;
//   - a flow in flight: its axis, and contention from the moment it would have ended alone;
//   - a flow that waits for a member: bubble if the last one is of another stage, else wait;
//   - another timer (the host): its own bin.
// A part of a chain on the compute stream leaves no pieces: chains count it by themselves
// (chain_index.h). After the last operation of the compute stream: its axis while the rank has a
// flow in flight (of several, the one that ends last), then wait.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/trace_index.h"

namespace shardsim {

struct Piece {
  Bin bin = Bin::compute;
  double start_s = 0;
  double end_s = 0;
  std::int32_t op = -1;      // that explains it, -1 = none (idle at the end)
  std::int32_t inside = -1;  // of a part of a chain: operation of the chain's trace
};

[[nodiscard]] Bin bin_of(Category category);

// Replaces `pieces` by those of the rank class; empty pieces are left out.
void cut_compute_stream(const TraceIndex& index, std::int32_t rank_class,
                        std::vector<Piece>& pieces);

// Appends the pieces of the compute stream from `from` to the end of its last operation.
void cut_from(const TraceIndex& index, std::int32_t rank_class, double from,
              std::vector<Piece>& pieces);
// Appends the pieces that explain the time from `from` to the end of an operation, backwards.
void explain_until(const TraceIndex& index, std::int32_t rank_class, std::int32_t op, double from,
                   std::vector<Piece>& pieces);

}  // namespace shardsim
