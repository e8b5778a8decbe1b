#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/chain_index.h"
#include "analysis/parts.h"
#include "base/errors.h"
#include "base/ids.h"
#include "base/rounding.h"

namespace shardsim {
namespace {

// Sums of one rank by slot and label, before they are named.
using LocalKey = std::pair<std::int32_t, std::int32_t>;

constexpr std::int32_t kSends = 1;  // TraceProgram::slot_roles
constexpr std::int32_t kReceives = 2;

// The operation that explains a piece, inside a chain or not.
const TraceOp& operation_of(const TraceIndex& index, std::int32_t rank_class, const Piece& piece) {
  const TraceOp& what = index.static_op(rank_class, piece.op);
  if (piece.inside < 0) {
    return what;
  }
  const TracePart& part = at(index.trace->parts, what.part);
  return at(index.chains->chains, part.chain).inside.static_op(part.rank, piece.inside);
}

std::map<LocalKey, CollectiveSum> sums_of_rank(const TraceIndex& index, std::int32_t rank_class,
                                               const std::vector<Piece>& pieces) {
  std::map<LocalKey, CollectiveSum> result;
  const ProgramIndex& program = index.program_of(rank_class);
  for (std::int32_t slot = 0; slot < count(program.slot_ops); ++slot) {
    const std::int32_t lane = at(at(index.trace->ranks, rank_class).slot_lanes, slot);
    const std::int32_t link = at(index.trace->lanes, lane).bound_link;
    for (const std::int32_t op : at(program.slot_ops, slot)) {
      const TraceOp& what = index.static_op(rank_class, op);
      CollectiveSum& sum = result[{slot, what.label}];
      const double time =
          index.end_s(rank_class, op) - at(at(index.meetings, lane), at(program.use, op)).begin_s;
      ++sum.count;
      sum.message_bytes += static_cast<double>(what.message.value());
      sum.time_s.add(time);
      sum.time_of_link[link] += time;
    }
  }
  for (const Piece& piece : pieces) {
    if (piece.op < 0 || piece.bin == Bin::bubble || piece.bin == Bin::wait) {
      continue;
    }
    const TraceOp& what = operation_of(index, rank_class, piece);
    if (what.is_flow) {
      result[{what.slot, what.label}].exposed_s.add(piece.end_s - piece.start_s);
    }
  }
  for_each_chain(index, rank_class, [&](const TemplateChain& held, std::int32_t passes) {
    for (const ChainUse& use : at(at(index.chains->chains, held.chain).ranks, held.rank).uses) {
      const std::int32_t lane = at(at(index.trace->ranks, rank_class).slot_lanes, use.slot);
      CollectiveSum& sum = result[{use.slot, use.label}];
      sum.count += use.count * passes;
      sum.message_bytes += use.message_bytes * passes;
      sum.time_s.add(use.time_s * passes);
      sum.exposed_s.add(use.exposed_s * passes);
      sum.time_of_link[at(index.trace->lanes, lane).bound_link] += use.time_s * passes;
    }
  });
  return result;
}

std::int32_t link_of_most_time(const CollectiveSum& sum) {
  std::int32_t best = -1;
  double most = -1;
  for (const auto& [link, time] : sum.time_of_link) {
    if (without_rounding(time) > most) {
      best = link;
      most = without_rounding(time);
    }
  }
  return best;
}

// A message's two ends share a name: "stage boundary forward send" -> "... send_recv".
std::string shared_name(const std::string& label, std::int32_t role) {
  const std::string word = role == kSends ? " send" : " recv";
  const bool ends = role != 0 && label.size() > word.size() &&
                    label.compare(label.size() - word.size(), word.size(), word) == 0;
  return ends ? label.substr(0, label.size() - word.size()) + " send_recv" : label;
}

}  // namespace

void add_collectives(const TraceIndex& index, std::int32_t rank_class,
                     const std::vector<Piece>& pieces, CollectiveSums& sums) {
  const Trace& trace = *index.trace;
  const TraceRank& rank = at(trace.ranks, rank_class);
  const TraceProgram& program = at(trace.programs, rank.program);
  for (const auto& [key, local] : sums_of_rank(index, rank_class, pieces)) {
    const std::int32_t role = at(program.slot_roles, key.first);
    const CollectiveKey name{at(program.slot_groups, key.first),
                             shared_name(at(trace.labels, key.second), role),
                             at(program.slot_algorithms, key.first)};
    CollectiveSum& sum = sums[name];
    sum.exposed_s.add(local.exposed_s.value() * rank.size);
    if (role == kReceives) {
      continue;  // the sender counts the message
    }
    sum.count += local.count * rank.size;
    sum.message_bytes += local.message_bytes * rank.size;
    sum.time_s.add(local.time_s.value() * rank.size);
    for (const auto& [link, time] : local.time_of_link) {
      sum.time_of_link[link] += time * rank.size;
    }
  }
}

std::vector<CollectiveUse> collective_rows(const Trace& trace, const CollectiveSums& sums) {
  std::int64_t ranks = 0;
  for (const TraceRank& rank : trace.ranks) {
    ranks += rank.size;
  }
  std::vector<CollectiveUse> rows;
  for (const auto& [key, sum] : sums) {
    CollectiveUse row;
    std::tie(row.group, row.label, row.algorithm) = key;
    SHARDSIM_CHECK(sum.count > 0, "a message is received that nobody sends");
    row.count = static_cast<double>(sum.count) / static_cast<double>(ranks);
    row.message = Bytes{std::llround(sum.message_bytes / static_cast<double>(sum.count))};
    row.time_s = sum.time_s.value() / static_cast<double>(ranks);
    row.exposed_s = sum.exposed_s.value() / static_cast<double>(ranks);
    if (const std::int32_t link = link_of_most_time(sum); link >= 0) {
      row.bound_link = at(trace.links, link).name;
      row.bound = at(trace.links, link).capacity;
    }
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const CollectiveUse& a, const CollectiveUse& b) {
    return without_rounding(a.time_s) > without_rounding(b.time_s);
  });
  return rows;
}

std::vector<CollectiveUse> collective_uses(const Trace& trace) {
  const TraceIndex index = make_trace_index(trace);
  CollectiveSums sums;
  std::vector<Piece> pieces;
  for (std::int32_t r = 0; r < count(trace.ranks); ++r) {
    cut_compute_stream(index, r, pieces);
    add_collectives(index, r, pieces, sums);
  }
  return collective_rows(trace, sums);
}

}  // namespace shardsim
