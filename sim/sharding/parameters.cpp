// Counts by closed formula; tests check them against the tensors of sharding/tensors.h.
#include "sharding/parameters.h"

#include "base/errors.h"
#include "sharding/mla.h"
#include "sharding/operators.h"

namespace shardsim {
namespace {

struct Part {  // of one layer, or of the whole model
  std::int64_t total = 0;
  std::int64_t active = 0;
  std::int64_t matmul = 0;
};

void add(Part& sum, const Part& part, std::int64_t times = 1) {
  sum.total = checked_add(sum.total, checked_mul(part.total, times));
  sum.active = checked_add(sum.active, checked_mul(part.active, times));
  sum.matmul = checked_add(sum.matmul, checked_mul(part.matmul, times));
}

Part product(std::int64_t in, std::int64_t out, bool bias = false) {
  const std::int64_t weights = checked_mul(in, out);
  const std::int64_t all = checked_add(weights, bias ? out : 0);
  return {all, all, weights};
}
Part vector_of(std::int64_t size) { return {size, size, 0}; }
Part norm_of(const ModelSpec& m) {
  return vector_of(m.norm == Norm::layernorm ? 2 * m.hidden : m.hidden);
}

// Multi-head latent attention, DeepSeek-V2 (arXiv 2405.04434) section 2.1.2, equations 9 to 19.
Part mla_attention(const ModelSpec& m, const MlaSpec& mla) {
  const std::int64_t query = m.heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  Part sum;
  if (mla.q_lora_rank > 0) {
    add(sum, product(m.hidden, mla.q_lora_rank));
    add(sum, vector_of(mla.q_lora_rank));  // its norm
    add(sum, product(mla.q_lora_rank, query));
  } else {
    add(sum, product(m.hidden, query));
  }
  add(sum, product(m.hidden, mla.kv_lora_rank + mla.qk_rope_head_dim));
  add(sum, vector_of(mla.kv_lora_rank));
  add(sum, product(mla.kv_lora_rank, m.heads * (mla.qk_nope_head_dim + mla.v_head_dim)));
  add(sum, product(m.heads * mla.v_head_dim, m.hidden));
  return sum;
}

Part attention(const ModelSpec& m) {
  if (m.mla) {
    return mla_attention(m, *m.mla);
  }
  const std::int64_t query = checked_mul(m.heads, m.head_dim);
  const std::int64_t key = checked_mul(m.kv_heads, m.head_dim);
  Part sum;
  add(sum, product(m.hidden, checked_add(query, 2 * key), m.bias != Bias::none));
  add(sum, product(query, m.hidden, m.bias == Bias::all));
  if (m.qk_norm) {
    add(sum, vector_of(2 * m.head_dim));
  }
  return sum;
}

Part mlp(const ModelSpec& m, std::int64_t ffn) {
  Part sum;
  add(sum, product(m.hidden, checked_mul(ffn, m.gated_mlp ? 2 : 1), m.bias == Bias::all));
  add(sum, product(ffn, m.hidden, m.bias == Bias::all));
  return sum;
}

Part moe_mlp(const ModelSpec& m, const MoeSpec& moe) {
  Part sum = product(m.hidden, moe.experts);  // router
  const Part expert = mlp(m, moe.expert_ffn);
  Part experts;
  add(experts, expert, moe.top_k);
  experts.total = checked_mul(expert.total, moe.experts);
  add(sum, experts);
  if (moe.shared_ffn > 0) {
    add(sum, mlp(m, moe.shared_ffn));
  }
  return sum;
}

// Scores and values: with mla a head's values are narrower than its keys, and the mean counts.
double attention_flops(const ModelSpec& m, std::int64_t sequence) {
  const double width =
      (static_cast<double>(key_head_dim(m)) + static_cast<double>(value_head_dim(m))) / 2.0;
  return static_cast<double>(m.layers) * static_cast<double>(m.heads) * width *
         static_cast<double>(sequence);
}

double nvidia_causal(const ModelSpec& m, std::int64_t sequence) {
  return 6.0 * static_cast<double>(count_parameters(m).matmul) + 6.0 * attention_flops(m, sequence);
}
double nvidia_full(const ModelSpec& m, std::int64_t sequence) {
  return 6.0 * static_cast<double>(count_parameters(m).matmul) +
         12.0 * attention_flops(m, sequence);
}
double palm(const ModelSpec& m, std::int64_t sequence) {
  return 6.0 * static_cast<double>(count_parameters(m).total) + 12.0 * attention_flops(m, sequence);
}
double six_nd(const ModelSpec& m, std::int64_t /*sequence*/) {
  return 6.0 * static_cast<double>(count_parameters(m).total);
}
// Narayanan et al., arXiv 2104.04473, equation 3: the recomputed forward counted, full attention.
double megatron_sc21(const ModelSpec& m, std::int64_t sequence) {
  const auto l = static_cast<double>(m.layers);
  const auto h = static_cast<double>(m.hidden);
  const auto s = static_cast<double>(sequence);
  const auto v = static_cast<double>(m.vocab);
  return 96.0 * l * h * h * (1.0 + s / (6.0 * h) + v / (16.0 * l * h));
}

}  // namespace

ParameterCount count_parameters(const ModelSpec& model) {
  Part sum;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add(sum, norm_of(model), 2);
    add(sum, attention(model));
    add(sum, layer_kind(model, layer) == LayerKind::moe ? moe_mlp(model, *model.moe)
                                                        : mlp(model, model.ffn));
  }
  add(sum, norm_of(model), model.embedding_norm ? 2 : 1);
  const std::int64_t table = checked_mul(model.vocab, model.hidden);
  add(sum, vector_of(table));
  add(sum, model.tied_embeddings ? Part{0, 0, table} : Part{table, table, table});
  if (model.position == Position::learned) {
    add(sum, vector_of(checked_mul(model.max_positions, model.hidden)));
  }
  return {sum.total, sum.active, sum.matmul};
}

const std::vector<FlopsConvention>& flops_conventions() {
  static const std::vector<FlopsConvention> kTable{
      {"nvidia-causal",
       "6 x matmul parameters (active experts, head, no input embedding) + 6 L heads head_dim s",
       nvidia_causal},
      {"nvidia-full", "as nvidia-causal, with 12 L heads head_dim s (no causal halving)",
       nvidia_full},
      {"palm", "6 x all parameters + 12 L heads head_dim s", palm},
      {"6nd", "6 x all parameters", six_nd},
      {"megatron-sc21", "96 L h^2 (1 + s/6h + V/16Lh): with the recomputed forward, full attention",
       megatron_sc21},
  };
  return kTable;
}

const FlopsConvention& default_flops_convention() { return flops_conventions().front(); }

}  // namespace shardsim
