#include <algorithm>

#include "analysis/chain_index.h"
#include "analysis/compute_stream.h"
#include "analysis/parts.h"
#include "analysis/sum.h"
#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

struct BinSums {
  std::array<Sum, kBinCount> sums;

  void add(const Breakdown& breakdown, double factor) {
    for (std::size_t b = 0; b < kBinCount; ++b) {
      sums[b].add(breakdown.seconds[b] * factor);
    }
  }
  [[nodiscard]] Breakdown value() const {
    Breakdown result;
    for (std::size_t b = 0; b < kBinCount; ++b) {
      result.seconds[b] = sums[b].value();
    }
    return result;
  }
};

std::vector<Breakdown> class_breakdowns(const Trace& trace) {
  const TraceIndex index = make_trace_index(trace);
  std::vector<Breakdown> result;
  std::vector<Piece> pieces;
  for (std::int32_t r = 0; r < count(trace.ranks); ++r) {
    cut_compute_stream(index, r, pieces);
    result.push_back(sum_pieces(index, r, pieces));
  }
  return result;
}

}  // namespace

std::string_view name(Bin bin) {
  switch (bin) {
    case Bin::compute:
      return "compute";
    case Bin::recompute:
      return "recompute";
    case Bin::optimizer:
      return "optimizer";
    case Bin::tp:
      return "tp";
    case Bin::sp:
      return "sp";
    case Bin::cp:
      return "cp";
    case Bin::ep:
      return "ep";
    case Bin::pp:
      return "pp";
    case Bin::dp:
      return "dp";
    case Bin::bubble:
      return "bubble";
    case Bin::wait:
      return "wait";
    case Bin::contention:
      return "contention";
    case Bin::other:
      return "other";
  }
  SHARDSIM_CHECK(false, "bin without a name");
}

double Breakdown::total() const {
  Sum sum;
  for (const double bin : seconds) {
    sum.add(bin);
  }
  return sum.value();
}

Breakdown sum_pieces(const TraceIndex& index, std::int32_t rank_class,
                     const std::vector<Piece>& pieces) {
  std::array<Sum, kBinCount> sums;
  for (const Piece& piece : pieces) {
    sums[static_cast<std::size_t>(piece.bin)].add(piece.end_s - piece.start_s);
  }
  BinSums all{sums};
  for_each_chain(index, rank_class, [&](const TemplateChain& held, std::int32_t passes) {
    all.add(at(at(index.chains->chains, held.chain).ranks, held.rank).bins, passes);
  });
  return all.value();
}

Breakdown mean_breakdown(const Trace& trace, const std::vector<Breakdown>& of_classes,
                         std::int32_t stage) {
  BinSums sums;
  std::int64_t ranks = 0;
  for (std::int32_t r = 0; r < count(trace.ranks); ++r) {
    const TraceRank& rank = at(trace.ranks, r);
    if (stage < 0 || at(trace.programs, rank.program).stage == stage) {
      sums.add(at(of_classes, r), rank.size);
      ranks += rank.size;
    }
  }
  SHARDSIM_CHECK(ranks > 0, "a mean over no ranks");
  Breakdown result = sums.value();
  for (double& bin : result.seconds) {
    bin /= static_cast<double>(ranks);
  }
  settle(result, trace.step_s, trace.step_s);
  return result;
}

std::int32_t stage_count(const Trace& trace) {
  std::int32_t stages = 0;
  for (const TraceRank& rank : trace.ranks) {
    stages = std::max(stages, at(trace.programs, rank.program).stage + 1);
  }
  return stages;
}

Breakdown rank_breakdown(const Trace& trace, std::int32_t rank_class) {
  const TraceIndex index = make_trace_index(trace);
  std::vector<Piece> pieces;
  cut_compute_stream(index, rank_class, pieces);
  return sum_pieces(index, rank_class, pieces);
}

Breakdown step_breakdown(const Trace& trace) {
  return mean_breakdown(trace, class_breakdowns(trace), -1);
}

std::vector<Breakdown> stage_breakdowns(const Trace& trace) {
  const std::vector<Breakdown> classes = class_breakdowns(trace);
  std::vector<Breakdown> result;
  for (std::int32_t stage = 0; stage < stage_count(trace); ++stage) {
    result.push_back(mean_breakdown(trace, classes, stage));
  }
  return result;
}

}  // namespace shardsim
