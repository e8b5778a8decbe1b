// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434 section 2.1.2): queries, and keys with
// values, are compressed to a latent vector each, from which every head's own are projected.
//
//   mla down: h -> q_lora_rank, h -> kv_lora_rank + qk_rope_head_dim     whole on every tp rank
//   mla norm: of both latents
//   mla up:   q_lora_rank -> heads (nope + rope), kv_lora_rank -> heads (nope + v)   cut by head
// Uncompressed queries (q_lora_rank 0) are projected from h in mla up. Under sp the latents are cut
// along s and gathered before mla up (Megatron: MLASelfAttention, duplicated down-projections).
#pragma once

#include <cstdint>
#include <vector>

#include "sharding/tensors.h"

namespace shardsim {

// Widths of a head's queries and keys, and of its values, with or without mla.
[[nodiscard]] std::int64_t key_head_dim(const ModelSpec& model);
[[nodiscard]] std::int64_t value_head_dim(const ModelSpec& model);

// Values of a token that mla up needs: both latents, and the rotated part of the key.
[[nodiscard]] std::int64_t latent_width(const ModelSpec& model);

// Weights and saved activations of mla_down, mla_norm and mla_up; none of others.
[[nodiscard]] std::vector<Tensor> mla_weights(const RunSpec& run, OperatorKind kind);
[[nodiscard]] std::vector<SavedTensor> mla_saved(const RunSpec& run, OperatorKind kind,
                                                 std::int32_t place);

}  // namespace shardsim
