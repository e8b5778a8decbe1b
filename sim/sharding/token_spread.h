// How the experts that a token visits lie on the ranks that hold them: on how many distinct ranks,
// on how many distinct nodes. What dispatchers that send a token once per node move follows from
// it.
//
// A token's experts are drawn without order: first `group_top_k` of `groups` equal groups of
// experts, then top_k of the experts in them (DeepSeek-V3, arXiv 2412.19437 section 2.1.2,
// node-limited routing; all choices equally likely: assumed). Holders have equally many experts,
// in expert order. A holder of which x experts lie in chosen groups is visited unless all K of a
// token's experts are others of the M g in the M chosen groups of g. Both draws are hypergeometric:
//   not visited, given x:           C(Mg - x, K) / C(Mg, K)
//   n given groups chosen, of c:    C(G - c, M - n) / C(G, M)
// A holder spans whole groups but for its first and its last.
//   256 experts, top 8 without groups, 8 nodes: 8 (1 - C(224, 8) / C(256, 8)) = 5.29 nodes
#pragma once

#include <cstdint>
#include <optional>

#include "spec/run_spec.h"

namespace shardsim {

struct TokenSpread {
  std::int64_t experts = 1;
  std::int64_t top_k = 1;
  std::int64_t groups = 1;
  std::int64_t group_top_k = 1;
  bool operator==(const TokenSpread&) const = default;
};

// Mean number of distinct holders that a token visits. REQUIRES holders to divide experts.
[[nodiscard]] double distinct_holders(const TokenSpread& spread, std::int64_t holders);

// Of a run whose dispatcher sends a token once per node; none otherwise.
[[nodiscard]] std::optional<TokenSpread> token_spread(const RunSpec& run);

}  // namespace shardsim
