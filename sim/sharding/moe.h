// Mixtures of experts on ranks: how many tokens a rank sends and gets, how unevenly, and the
// tensors of the operators between the router and the sum of what experts returned.
//
// A rank sends each of its tokens to top_k experts. With an even load it gets as many as it sends
// (times etp, whose ranks share their experts' tokens). Loads are relative to that; all groups of
// ep have the same loads, by place in the group.
//   16 experts, ep 4, top 2, 4096 tokens of a rank: it sends 8192 and gets 8192 at load 1
#pragma once

#include <cstdint>
#include <vector>

#include "sharding/tensors.h"

namespace shardsim {

struct ExpertLoads {
  std::vector<double> kinds{1.0};              // distinct loads, by first place in the group
  std::vector<std::int32_t> kind_of_place{0};  // by place in the ep group
  double busiest = 1.0;
  double dropped = 0.0;  // share of the tokens' copies that no expert has room for
};

// From moe.imbalance (the first place has so many times the mean, the others share the rest) or
// moe.tokens_per_expert, each expert cut at model.moe.capacity_factor times the mean. A dense model
// has one kind of load.
[[nodiscard]] ExpertLoads expert_loads(const RunSpec& run);

// The largest load that a rank can have: all tokens choose as many of its experts as they can.
[[nodiscard]] double most_load(const MoeSpec& moe, std::int64_t ep);

[[nodiscard]] std::int64_t scaled(std::int64_t tokens, double load);  // rounded up

// Copies of tokens that a rank sends for one micro batch (before capacity), and that reach its
// experts at a load, gathered over etp.
[[nodiscard]] std::int64_t routed_tokens(const RunSpec& run);
[[nodiscard]] std::int64_t expert_tokens(const RunSpec& run, double load);
[[nodiscard]] std::int64_t local_experts(const RunSpec& run);

// Weights and saved activations of the operators from shared_up to unpermute; none of others.
[[nodiscard]] std::vector<Tensor> moe_weights(const RunSpec& run, OperatorKind kind);
[[nodiscard]] std::vector<SavedTensor> moe_saved(const RunSpec& run, OperatorKind kind,
                                                 std::int32_t place);

}  // namespace shardsim
