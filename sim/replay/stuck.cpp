#include "replay/stuck.h"

#include <algorithm>

#include "base/text.h"

namespace shardsim {
namespace {

inline constexpr std::size_t kNamed = 8;  // of the stuck operations, assumed enough to see why

std::string describe_op(const Folded& folded, const OpGraph& graph, std::int32_t rank_class,
                        std::int32_t index) {
  const RankClass& rank = at(folded.ranks, rank_class);
  const LoweredProgram& program = at(folded.programs, rank.program);
  const auto after = std::upper_bound(graph.first_op.begin(), graph.first_op.end(), index);
  const LoweredPass& pass = at(program.passes, after - graph.first_op.begin() - 1);
  const LoweredOp& op = *at(graph.ops, index);
  std::string text =
      "rank " + std::to_string(rank.representative) + " operation " + std::to_string(index);
  if (op.label >= 0 && op.label < count(folded.labels)) {
    text += " \"" + at(folded.labels, op.label) + "\"";
  }
  if (pass.micro_batch >= 0) {
    text += " of micro batch " + std::to_string(pass.micro_batch);
  }
  if (op.is_flow) {
    const Slot& slot = at(program.slots, op.slot);
    text += " waits for its peers (" + slot.group + " " + slot.algorithm + ", use " +
            std::to_string(at(graph.use, index)) + ")";
  }
  return text;
}

}  // namespace

std::string describe_stuck(const Folded& folded, const std::vector<OpGraph>& graphs,
                           const Times& times, const std::vector<std::uint16_t>& pending,
                           const std::vector<std::size_t>& first_pending) {
  std::vector<std::string> named;
  std::int64_t left = 0;
  for (std::int32_t rank = 0; rank < count(folded.ranks); ++rank) {
    const OpGraph& graph = at(graphs, at(folded.ranks, rank).program);
    const std::size_t first = at(first_pending, rank);
    for (std::int32_t op = 0; op < count(graph.ops); ++op) {
      if (at(at(times.ranks, rank).end_s, op) != kNotEnded) {
        continue;
      }
      ++left;
      const bool reached = pending[first + static_cast<std::size_t>(op)] == 0;
      if (reached && named.size() < kNamed) {
        named.push_back(describe_op(folded, graph, rank, op));
      }
    }
  }
  return std::to_string(left) + " operations never ended; " + join(named, "; ");
}

}  // namespace shardsim
