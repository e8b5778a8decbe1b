// Which ranks, lanes and links behave identically? Lowered -> Folded, exactly.
//
// A partition of ranks, lanes and links is *equitable* when equal ranks use equal lanes slot by
// slot, equal lanes have equal members (slot, rank) and links (link, weight), and equal links carry
// the same summed weight of each kind of lane. Then one representative per class replays with the
// same times as the whole: the folded max-min rates, given to every member, are the full job's
// max-min rates, and arrivals are maxima over equal multisets. The discrete partition (all classes
// of one) is the full replay.
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
[[nodiscard]] Partition refine(const Lowered& lowered);
// InternalError unless the partition is equitable: each member is compared with its representative.
void check_partition(const Lowered& lowered, const Partition& partition);
[[nodiscard]] Folded quotient(const Lowered& lowered, const Partition& partition);

[[nodiscard]] Folded fold(const Lowered& lowered, FoldMode mode = FoldMode::automatic);

// InternalError unless all indices are in range and the members of each lane run the same flows in
// the same order.
void check_folded(const Folded& folded);
[[nodiscard]] std::string dump_folded(const Folded& folded);  // one line per class and row

}  // namespace shardsim
