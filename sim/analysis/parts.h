// The analyses over an index that they share, so that analyze() builds it and cuts each compute
// stream once.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/compute_stream.h"
#include "analysis/sum.h"
#include "analysis/trace_index.h"

namespace shardsim {

// Of a rank class, given its cut compute stream; chains included.
[[nodiscard]] Breakdown sum_pieces(const TraceIndex& index, std::int32_t rank_class,
                                   const std::vector<Piece>& pieces);
// Mean over the ranks of one stage, or over all ranks when `stage` is negative.
[[nodiscard]] Breakdown mean_breakdown(const Trace& trace, const std::vector<Breakdown>& of_classes,
                                       std::int32_t stage);
[[nodiscard]] std::int32_t stage_count(const Trace& trace);
[[nodiscard]] CriticalPath critical_path(const TraceIndex& index);
// Appends the path from the end of an operation back to time zero; returns the rank class of its
// first operation.
std::int32_t path_back(const TraceIndex& index, std::int32_t rank_class, std::int32_t op,
                       std::vector<PathSegment>& segments);

struct CollectiveSum {  // over ranks
  std::int64_t count = 0;
  double message_bytes = 0;
  Sum time_s;
  Sum exposed_s;
  std::map<std::int32_t, double> time_of_link;  // by the link that bounds the flow alone
};
using CollectiveKey = std::tuple<std::string, std::string, std::string>;  // group, label, algorithm
using CollectiveSums = std::map<CollectiveKey, CollectiveSum>;

// Adds the flows of a rank class, given its cut compute stream.
void add_collectives(const TraceIndex& index, std::int32_t rank_class,
                     const std::vector<Piece>& pieces, CollectiveSums& sums);
[[nodiscard]] std::vector<CollectiveUse> collective_rows(const Trace& trace,
                                                         const CollectiveSums& sums);

}  // namespace shardsim
