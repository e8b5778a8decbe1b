// The weights of each operator.
#include "sharding/mla.h"
#include "sharding/moe.h"
#include "sharding/tensors.h"

namespace shardsim {
namespace {

Tensor weight(std::string name, OperatorKind op, std::vector<SizedDim> dims, const RunSpec& run) {
  return {std::move(name), op, Port::weight, std::move(dims),
          element_bytes(run.training.param_dtype)};
}

std::vector<Tensor> norm_weights(const RunSpec& run) {
  const std::vector<SizedDim> h{{Dim::hidden, run.model.hidden}};
  std::vector<Tensor> result{weight("norm weight", OperatorKind::norm, h, run)};
  if (run.model.norm == Norm::layernorm) {
    result.push_back(weight("norm bias", OperatorKind::norm, h, run));
  }
  return result;
}

std::vector<Tensor> qkv_weights(const RunSpec& run) {
  const ModelSpec& m = run.model;
  const SizedDim h{Dim::hidden, m.hidden};
  const SizedDim d{Dim::head_dim, m.head_dim};
  const SizedDim heads{Dim::head, m.heads};
  const SizedDim kv{Dim::kv_head, m.kv_heads};
  std::vector<Tensor> result{weight("q weight", OperatorKind::qkv, {h, heads, d}, run),
                             weight("k weight", OperatorKind::qkv, {h, kv, d}, run),
                             weight("v weight", OperatorKind::qkv, {h, kv, d}, run)};
  if (m.bias != Bias::none) {
    result.push_back(weight("q bias", OperatorKind::qkv, {heads, d}, run));
    result.push_back(weight("k bias", OperatorKind::qkv, {kv, d}, run));
    result.push_back(weight("v bias", OperatorKind::qkv, {kv, d}, run));
  }
  return result;
}

std::vector<Tensor> up_weights(const RunSpec& run) {
  const ModelSpec& m = run.model;
  const SizedDim gate{Dim::gate, m.gated_mlp ? 2 : 1};
  const SizedDim ffn{Dim::ffn, m.ffn};
  std::vector<Tensor> result{
      weight("up weight", OperatorKind::up, {{Dim::hidden, m.hidden}, gate, ffn}, run)};
  if (m.bias == Bias::all) {
    result.push_back(weight("up bias", OperatorKind::up, {gate, ffn}, run));
  }
  return result;
}

}  // namespace

std::vector<Tensor> operator_weights(const RunSpec& run, OperatorKind kind) {
  using enum OperatorKind;
  const ModelSpec& m = run.model;
  const SizedDim h{Dim::hidden, m.hidden};
  const SizedDim vocab{Dim::vocab, padded_vocab(run)};
  switch (kind) {
    case embedding:
      return {weight("embedding", kind, {vocab, h}, run)};
    case position:
      return {weight("position table", kind, {{Dim::position, m.max_positions}, h}, run)};
    case norm:
      return norm_weights(run);
    case qkv:
      return qkv_weights(run);
    case qk_norm:
      return {weight("q norm weight", kind, {{Dim::head_dim, m.head_dim}}, run),
              weight("k norm weight", kind, {{Dim::head_dim, m.head_dim}}, run)};
    case attention_out:
      return {weight("attention out weight", kind,
                     {{Dim::head, m.heads}, {Dim::head_dim, value_head_dim(m)}, h}, run)};
    case residual:  // the bias of the row-parallel product before it, added after the sum
      return m.bias == Bias::all ? std::vector<Tensor>{weight("output bias", kind, {h}, run)}
                                 : std::vector<Tensor>{};
    case up:
      return up_weights(run);
    case down:
      return {weight("down weight", kind, {{Dim::ffn, m.ffn}, h}, run)};
    case head:
      return {weight("head", kind, {vocab, h}, run)};
    case mtp_projection:
      return {weight("mtp projection weight", kind, {{Dim::concatenated, 2 * m.hidden}, h}, run)};
    case mtp_output:
    case dropout:
    case rope:
    case attention:
    case activation:
    case loss:
      return {};
    case mla_down:
    case mla_norm:
    case mla_up:
      return mla_weights(run, kind);
    default:
      return moe_weights(run, kind);
  }
}

}  // namespace shardsim
