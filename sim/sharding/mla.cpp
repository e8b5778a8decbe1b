#include "sharding/mla.h"

namespace shardsim {
namespace {

struct Latents {
  explicit Latents(const RunSpec& job) : run(job), mla(*job.model.mla) {}

  [[nodiscard]] Tensor weight(std::string name, OperatorKind op, std::vector<SizedDim> dims) const {
    return {std::move(name), op, Port::weight, std::move(dims),
            element_bytes(run.training.param_dtype)};
  }
  // [b, s, width], placed as the operator's input or output.
  [[nodiscard]] SavedTensor saved(std::string name, OperatorKind op, Port port, SizedDim width,
                                  std::int64_t element, std::int32_t place) const {
    return {{std::move(name),
             op,
             port,
             {{Dim::batch, run.batch.micro * run.parallel.dp},
              {Dim::sequence, run.batch.sequence},
              width},
             element},
            SavedAs::other,
            place};
  }

  const RunSpec& run;
  const MlaSpec& mla;
  SizedDim hidden{Dim::hidden, run.model.hidden};
  SizedDim query{Dim::latent, mla.q_lora_rank};
  SizedDim key_value{Dim::latent, mla.kv_lora_rank};
  SizedDim key_value_rope{Dim::latent, mla.kv_lora_rank + mla.qk_rope_head_dim};
  SizedDim heads{Dim::head, run.model.heads};
};

}  // namespace

std::int64_t key_head_dim(const ModelSpec& model) {
  return model.mla ? model.mla->qk_nope_head_dim + model.mla->qk_rope_head_dim : model.head_dim;
}

std::int64_t value_head_dim(const ModelSpec& model) {
  return model.mla ? model.mla->v_head_dim : model.head_dim;
}

std::int64_t latent_width(const ModelSpec& model) {
  const MlaSpec& mla = *model.mla;
  return (mla.q_lora_rank > 0 ? mla.q_lora_rank : model.hidden) + mla.kv_lora_rank +
         mla.qk_rope_head_dim;
}

std::vector<Tensor> mla_weights(const RunSpec& run, OperatorKind kind) {
  using enum OperatorKind;
  if (!run.model.mla) {
    return {};
  }
  const Latents z(run);
  const bool compressed = z.mla.q_lora_rank > 0;
  std::vector<Tensor> result;
  if (kind == mla_down) {
    if (compressed) {
      result.push_back(z.weight("q down weight", kind, {z.hidden, z.query}));
    }
    result.push_back(z.weight("kv down weight", kind, {z.hidden, z.key_value_rope}));
  } else if (kind == mla_norm) {
    if (compressed) {
      result.push_back(z.weight("q latent norm weight", kind, {z.query}));
    }
    result.push_back(z.weight("kv latent norm weight", kind, {z.key_value}));
  } else if (kind == mla_up) {
    result.push_back(z.weight(
        "q up weight", kind,
        {compressed ? z.query : z.hidden, z.heads, {Dim::head_dim, key_head_dim(run.model)}}));
    result.push_back(z.weight(
        "kv up weight", kind,
        {z.key_value, z.heads, {Dim::head_dim, z.mla.qk_nope_head_dim + z.mla.v_head_dim}}));
  }
  return result;
}

// The latents before their norms and after; the slice under sp, as with any gathered input.
std::vector<SavedTensor> mla_saved(const RunSpec& run, OperatorKind kind, std::int32_t place) {
  using enum OperatorKind;
  if (!run.model.mla) {
    return {};
  }
  const Latents z(run);
  const bool compressed = z.mla.q_lora_rank > 0;
  std::vector<SavedTensor> result;
  const std::int64_t element = element_bytes(tensor_precision(run.training.precision));
  const std::int64_t factor = factor_bytes(run.training.precision);
  if (kind == mla_down) {
    result.push_back(z.saved("mla down input", norm, Port::output, z.hidden, factor, place));
    if (is_low(run.training.precision) && compressed) {  // each of the two products casts its own
      result.push_back(z.saved("mla down input", norm, Port::output, z.hidden, factor, place));
    }
  } else if (kind == mla_norm || kind == mla_up) {
    const Port port = kind == mla_norm ? Port::input : Port::output;
    const std::int64_t width = kind == mla_norm ? element : factor;
    const std::string when = kind == mla_norm ? " before norm" : "";
    if (compressed) {
      result.push_back(z.saved("q latent" + when, mla_norm, port, z.query, width, place));
    }
    result.push_back(z.saved("kv latent" + when, mla_norm, port, z.key_value, width, place));
  }
  return result;
}

}  // namespace shardsim
