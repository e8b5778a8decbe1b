// All-to-all of tokens that cross to each node once: along the sender's rail to the GPU of its own
// place there, which copies them to the ranks of the token's experts over NVLink (DeepEP,
// github.com/deepseek-ai/DeepEP, normal kernels; DeepSeek-V3, arXiv 2412.19437 section 3.2.2).
//
// k nodes of r ranks; a rank's tokens, each once, are u bytes = buffer / top_k; a token visits N
// distinct nodes and R distinct ranks (sharding/token_spread.h):
//   rank to the rank of its place on each other node      u N / k
//   rank to each other rank of its node                   u R / r
// Both overlap, as DeepEP's channels do: one flow, whose slower tier sets the pace. Its weights are
// whole: rails 8, pairs in a node the nearest eighth. Each peer is written at once: a hop to the
// node and one on (assumed).
//   64 ranks on 8 nodes, top 8 of 256 experts, 4 of 8 groups: N 3.63, R 7.36 instead of 8 copies
#include <algorithm>
#include <cmath>

#include "lowering/algorithms/list.h"

namespace shardsim {
namespace {

constexpr std::int64_t kRailWeight = 8;

double across(const GroupShape& shape) { return shape.nodes_per_token / shape.nodes; }
double onward(const GroupShape& shape) { return shape.ranks_per_token / shape.max_per_node; }

bool applies(Primitive primitive, const GroupShape& shape) {
  return primitive == Primitive::all_to_all && shape.nodes_per_token > 0 && shape.ranks > 1;
}

std::vector<Phase> phases(Primitive /*primitive*/, Bytes bytes, const GroupShape& shape,
                          const CollectiveCorrections& corrections) {
  const double tokens = static_cast<double>(bytes.value()) / shape.copies_per_token;
  if (shape.nodes == 1) {
    const double moved = tokens * shape.ranks_per_token;
    return {{.part = Part::pairs,
             .amount = tokens * onward(shape),
             .steps = 1,
             .latency = corrections.base_latency + node_ramp(moved, shape.ranks, corrections)}};
  }
  return {{.part = Part::forwarded,
           .amount = tokens * across(shape) / static_cast<double>(kRailWeight),
           .steps = 2,
           .latency = corrections.base_latency +
                      fabric_ramp(tokens * shape.nodes_per_token, corrections)}};
}

}  // namespace

ForwardWeights forward_weights(const GroupShape& shape) {
  const double ratio = onward(shape) / across(shape) * static_cast<double>(kRailWeight);
  return {.rail = kRailWeight, .pair = std::max<std::int64_t>(1, std::llround(ratio))};
}

Algorithm forwarded_algorithm() {
  return {.name = "forwarded",
          .help = "tokens once to each node, and on to each rank there (moe.dispatcher deepep)",
          .applies = applies,
          .phases = phases};
}

}  // namespace shardsim
