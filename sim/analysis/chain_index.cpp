#include "analysis/chain_index.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/parts.h"
#include "analysis/sum.h"
#include "base/errors.h"

namespace shardsim {
namespace {

// Where the stretch of the compute stream that a chain covers begins, -1 = it covers nothing.
std::vector<std::vector<double>> stretch_starts(const Trace& trace) {
  std::vector<std::vector<double>> starts;
  starts.reserve(trace.chains.size());
  for (const Trace& chain : trace.chains) {
    starts.emplace_back(chain.ranks.size(), -1.0);
  }
  for (std::size_t p = trace.parts.size(); p-- > 0;) {
    const TracePart& part = trace.parts[p];
    if (part.on_compute) {
      at(at(starts, part.chain), part.rank) = part.start_s;
    }
  }
  return starts;
}

class UseSums {
 public:
  ChainUse& of(std::int32_t slot, std::int32_t label) {
    const auto found = std::find_if(uses.begin(), uses.end(), [&](const ChainUse& use) {
      return use.slot == slot && use.label == label;
    });
    return found != uses.end() ? *found : uses.emplace_back(ChainUse{.slot = slot, .label = label});
  }

  std::vector<ChainUse> uses;
};

ChainRankIndex index_rank(const TraceIndex& inside, std::int32_t rank, double stretch_start) {
  ChainRankIndex result;
  UseSums sums;
  for (std::int32_t op = 0; op < count(at(inside.trace->ranks, rank).end_s); ++op) {
    const TraceOp& what = inside.static_op(rank, op);
    if (what.is_flow) {
      ChainUse& use = sums.of(what.slot, what.label);
      ++use.count;
      use.message_bytes += static_cast<double>(what.message.value());
      use.time_s += inside.end_s(rank, op) - inside.meeting(rank, op).begin_s;
    }
  }
  std::vector<Piece> pieces;
  if (stretch_start >= 0) {
    cut_from(inside, rank, stretch_start, pieces);
  }
  for (const Piece& piece : pieces) {
    const TraceOp& what = inside.static_op(rank, piece.op);
    result.bins[piece.bin] += piece.end_s - piece.start_s;
    if (what.is_flow && piece.bin != Bin::wait) {
      sums.of(what.slot, what.label).exposed_s += piece.end_s - piece.start_s;
    }
  }
  result.uses = std::move(sums.uses);
  return result;
}

PartIndex index_part(const TraceIndex& inside, const TracePart& part) {
  PartIndex result;
  result.path_rank = path_back(inside, part.rank, part.exit, result.path);
  if (!part.on_compute) {
    explain_until(inside, part.rank, part.exit, 0, result.explained);
  }
  return result;
}

}  // namespace

ChainsIndex make_chains_index(const TraceIndex& index) {
  const Trace& trace = *index.trace;
  ChainsIndex result;
  const std::vector<std::vector<double>> starts = stretch_starts(trace);
  result.chains.reserve(trace.chains.size());
  for (std::int32_t c = 0; c < count(trace.chains); ++c) {
    ChainIndex chain{.inside = make_chain_trace_index(at(trace.chains, c), index.tie_s),
                     .ranks = {}};
    for (std::int32_t rank = 0; rank < count(at(trace.chains, c).ranks); ++rank) {
      chain.ranks.push_back(index_rank(chain.inside, rank, at(at(starts, c), rank)));
    }
    result.chains.push_back(std::move(chain));
  }
  result.parts.reserve(trace.parts.size());
  for (const TracePart& part : trace.parts) {
    result.parts.push_back(index_part(at(result.chains, part.chain).inside, part));
  }
  for (const TraceTemplate& t : trace.templates) {
    std::vector<TemplateChain>& held = result.of_template.emplace_back();
    for (std::int32_t i = 0; i < count(t.ops); ++i) {
      if (at(t.ops, i).part < 0) {
        continue;
      }
      const TracePart& part = at(trace.parts, at(t.ops, i).part);
      if (at(at(trace.chains, part.chain).heads, part.rank) == i) {
        held.push_back({.chain = part.chain, .rank = part.rank, .head = i});
      }
    }
  }
  return result;
}

}  // namespace shardsim
