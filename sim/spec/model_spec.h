// What a transformer is, as its JSON file states it (models/*.json). Counts only; no layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "spec/precision.h"

namespace shardsim {

enum class Norm { rmsnorm, layernorm };
enum class Position { rope, learned, none };
enum class Bias { none, qkv, all };
enum class Activation { silu, gelu, relu };

struct MoeSpec {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t expert_ffn = 0;
  std::int64_t shared_ffn = 0;   // summed width of the shared experts, 0 = none
  std::int64_t first_dense = 0;  // leading layers with a dense MLP
  std::int64_t every = 1;        // every n-th layer is MoE
  std::int64_t groups = 1;       // equal groups of experts, of which a token chooses group_top_k
  std::int64_t group_top_k = 1;  // DeepSeek-V3's node-limited routing
  std::optional<double> capacity_factor;  // none = dropless
  Precision dispatch_dtype = Precision::bf16;
  bool operator==(const MoeSpec&) const = default;
};

struct MlaSpec {  // multi-head latent attention, DeepSeek-V2 (arXiv 2405.04434) section 2.1
  std::int64_t q_lora_rank = 0;  // 0 = queries are not compressed
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  bool operator==(const MlaSpec&) const = default;
};

struct ModelSpec {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // default: heads
  std::int64_t head_dim = 0;  // default: hidden / heads
  std::int64_t vocab = 0;     // unpadded
  bool gated_mlp = false;
  bool tied_embeddings = false;
  Norm norm = Norm::rmsnorm;
  Position position = Position::rope;
  Bias bias = Bias::none;
  bool qk_norm = false;
  bool embedding_norm = false;  // the embedding is normalised before the first layer
  Activation activation = Activation::silu;
  double dropout = 0.0;
  std::int64_t max_positions = 0;  // rows of the learned position table; 0 when there is none
  std::optional<MoeSpec> moe;
  std::optional<MlaSpec> mla;
  std::int64_t mtp_layers = 0;
  bool operator==(const ModelSpec&) const = default;
};

}  // namespace shardsim
