// How the ranks of a cp group share the attention of one micro batch.
//
// Two levels: runs of `all_to_all` neighbours exchange heads for tokens, then each rank holds
// s / ring tokens of heads / all_to_all heads, and `ring` such ranks bring queries together with
// keys and values. p2p and all_gather: {1, cp}; a2a: {cp, 1}; a2a+p2p: {cp_a2a, cp / cp_a2a}.
//
// Causal work. With the plain split rank i of the ring holds chunk i of n = s / ring tokens and
// attends to chunks 0 .. i: i + 1/2 blocks of n x n; the last rank has twice the mean. Zig-zag
// (Megatron, get_batch_on_this_cp_rank) cuts 2 ring chunks of c = n / 2 and gives rank i the chunks
// i and 2 ring - 1 - i. Against the keys of rank k:
//   k = i: causal in both chunks, all of the early one: c^2 (1/2 + 1 + 1/2) = 2 c^2
//   k < i: both query chunks against k's early chunk:                        2 c^2
//   k > i: the late query chunk against both of k's:                         2 c^2
// Every rank does ring x 2 c^2 = s^2 / (2 ring), every step of a ring half a block pair.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "spec/run_spec.h"

namespace shardsim {

struct ContextSplit {
  std::int64_t all_to_all = 1;  // ranks of each level
  std::int64_t ring = 1;
};
[[nodiscard]] ContextSplit context_split(const RunSpec& run);

// Kinds of ranks in a cp group that attend to unequal work: 1, or one per place in the ring.
[[nodiscard]] std::int32_t attention_kinds(const RunSpec& run);
[[nodiscard]] std::int32_t attention_kind(const RunSpec& run, std::int32_t cp_coordinate);

struct AttentionBlock {  // queries x keys
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  bool causal = false;
};
// What a rank of `kind` computes in each step of a ring, own keys and values first; step j has
// those of the rank j places before. A step may be empty, with the plain split only.
[[nodiscard]] std::vector<std::vector<AttentionBlock>> ring_blocks(const RunSpec& run,
                                                                   std::int32_t kind);
// The same with all keys and values gathered: FLOPs and shorter sides of the kernels, one per chunk
// of queries.
[[nodiscard]] std::vector<AttentionBlock> gathered_blocks(const RunSpec& run, std::int32_t kind);

}  // namespace shardsim
