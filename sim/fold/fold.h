// Which ranks, lanes and links behave identically? Lowered -> Folded, exactly.
//
// A partition of ranks, lanes and links is *equitable* when equal ranks use equal lanes slot by
// slot, equal lanes have equal members (slot, rank) and links (link, weight), and equal links carry
// the same summed weight of each kind of lane. Then one representative per class replays with the
// same times as the whole: the folded max-min rates, given to every member, are the full job's
// max-min rates, and arrivals are maxima over equal multisets. The discrete partition (all classes
// of one) is the full replay.
//
// Cost for R ranks with S slots in all, L lanes with U link uses and K links: memory and each round
// of refinement are linear, O(R + S + L + U + K); the number of rounds is set by how far a
// difference travels (a slow GPU's mark moves one lane a round: about the pipeline's depth), 2 for
// a regular job. The exact check sorts each incidence list once, O((S + U) log). The quotient sees
// classes only; dominated rows are found by comparing rows that share a lane class. `tools/bench`
// shows it.
//
//   FoldMode::automatic  the coarsest equitable partition (colour refinement, refine.cpp)
//   FoldMode::off        the discrete one
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fold/folded.h"
#include "lowering/lowered.h"

namespace shardsim {

enum class FoldMode { automatic, off };

// Class of each rank, lane and link, numbered by first occurrence. -1: a link that no lane uses.
struct Partition {
  std::vector<std::int32_t> ranks;
  std::vector<std::int32_t> lanes;
  std::vector<std::int32_t> links;
};

[[nodiscard]] Partition discrete_partition(const Lowered& lowered);

// Slots label the edges between ranks and lanes. `dropped` is wrong (it takes a send for a receive)
// and exists so that tests can show that it is caught.
enum class EdgeLabels { slots, dropped };
[[nodiscard]] Partition refine(const Lowered& lowered, EdgeLabels labels = EdgeLabels::slots);
// InternalError unless the partition is equitable: each member is compared with its representative.
void check_partition(const Lowered& lowered, const Partition& partition);
[[nodiscard]] Folded quotient(const Lowered& lowered, const Partition& partition);

[[nodiscard]] Folded fold(const Lowered& lowered, FoldMode mode = FoldMode::automatic);

// InternalError unless all indices are in range and the members of each lane run the same flows in
// the same order.
void check_folded(const Folded& folded);
[[nodiscard]] std::string dump_folded(const Folded& folded);  // one line per class and row

}  // namespace shardsim
