#include "sharding/tensors.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "base/ids.h"
#include "sharding/derive.h"

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

struct Activations {  // builds the saved tensors of a run
  const RunSpec& run;
  SizedDim b{Dim::batch, run.batch.micro* run.parallel.dp};
  SizedDim s{Dim::sequence, run.batch.sequence};
  SizedDim h{Dim::hidden, run.model.hidden};
  SizedDim heads{Dim::head, run.model.heads};
  SizedDim kv{Dim::kv_head, run.model.kv_heads};
  SizedDim d{Dim::head_dim, run.model.head_dim};
  SizedDim ffn{Dim::ffn, run.model.ffn};
  SizedDim key{Dim::key, run.batch.sequence};
  std::int64_t element = element_bytes(run.training.precision);

  [[nodiscard]] Tensor tensor(std::string name, OperatorKind op, Port port,
                              std::vector<SizedDim> dims) const {
    return {std::move(name), op, port, std::move(dims), element};
  }
  [[nodiscard]] Tensor mask(std::string name, OperatorKind op, std::vector<SizedDim> dims) const {
    return {std::move(name), op, Port::input, std::move(dims), 1};
  }
};

// What the attention core keeps of its own: scores, or the statistics of flash attention.
std::vector<Tensor> core_saved(const Activations& a) {
  const std::vector<SizedDim> scores{a.b, a.heads, a.s, a.key};
  if (a.run.training.attention == AttentionKind::flash) {
    return {{"softmax statistics", OperatorKind::attention, Port::input, {a.b, a.heads, a.s}, 4}};
  }
  std::vector<Tensor> result{
      a.tensor("softmax output", OperatorKind::attention, Port::input, scores)};
  if (a.run.model.dropout > 0) {
    result.push_back(a.mask("attention dropout mask", OperatorKind::attention, scores));
    result.push_back(a.tensor("scores dropped out", OperatorKind::attention, Port::input, scores));
  }
  return result;
}

std::vector<SavedTensor> attention_saved(const Activations& a, std::int32_t place) {
  const OperatorKind op = OperatorKind::attention;
  std::vector<SavedTensor> result;
  result.push_back({a.tensor("queries", op, Port::input, {a.b, a.s, a.heads, a.d})});
  result.push_back({a.tensor("keys", op, Port::input, {a.b, a.s, a.kv, a.d})});
  result.push_back({a.tensor("values", op, Port::input, {a.b, a.s, a.kv, a.d})});
  for (Tensor& tensor : core_saved(a)) {
    result.push_back({std::move(tensor), SavedAs::core});
  }
  for (SavedTensor& saved : result) {
    saved.place = place;
  }
  return result;
}

// What one operator of a layer keeps; stored inputs are placed as their producer yielded them.
std::vector<SavedTensor> operator_saved(const Activations& a, OperatorKind kind,
                                        std::int32_t place) {
  using enum OperatorKind;
  const std::vector<SizedDim> bsh{a.b, a.s, a.h};
  switch (kind) {
    case norm:
      return {{a.tensor("norm input", norm, Port::input, bsh),
               place == 0 ? SavedAs::layer_input : SavedAs::other, place}};
    case qkv:
      return {{a.tensor("qkv input", norm, Port::output, bsh), SavedAs::other, place}};
    case qk_norm:
      return {{a.tensor("queries before norm", qk_norm, Port::input, {a.b, a.s, a.heads, a.d}),
               SavedAs::other, place},
              {a.tensor("keys before norm", qk_norm, Port::input, {a.b, a.s, a.kv, a.d}),
               SavedAs::other, place}};
    case attention:
      return attention_saved(a, place);
    case attention_out:
      return {{a.tensor("attention output", attention, Port::output, {a.b, a.s, a.heads, a.d}),
               SavedAs::other, place}};
    case residual:
      if (a.run.model.dropout > 0) {
        return {{a.mask("dropout mask", residual, bsh), SavedAs::other, place}};
      }
      return {};
    case up:
      return {{a.tensor("up input", norm, Port::output, bsh), SavedAs::other, place}};
    case activation:
      return {{a.tensor("activation input", activation, Port::input,
                        {a.b, a.s, {Dim::gate, a.run.model.gated_mlp ? 2 : 1}, a.ffn}),
               SavedAs::other, place}};
    case down:
      return {{a.tensor("down input", activation, Port::output, {a.b, a.s, a.ffn}), SavedAs::other,
               place}};
    default:
      return {};
  }
}

Placement at_port(const AxisRow& row, Port port) {
  switch (port) {
    case Port::input:
      return row.needs;
    case Port::weight:
      return row.weight;
    case Port::output:
      return row.yields;
  }
  SHARDSIM_CHECK(false, "port without a placement");
}

bool cuts(Placement placement, Dim dim) {
  if (placement.kind != Placement::Kind::shard) {
    return false;
  }
  return placement.dim == dim || (placement.dim == Dim::head && dim == Dim::kv_head);
}

// Ranks beyond the KV heads share them: each holds one.
std::int64_t parts_of(const SizedDim& dim, std::int64_t ranks) {
  return dim.dim == Dim::kv_head ? std::min(dim.size, ranks) : ranks;
}

constexpr std::array<Axis, 4> kDenseAxes{Axis::tp, Axis::cp, Axis::dp, Axis::pp};

}  // namespace

std::int64_t kv_sharers(const RunSpec& run) {
  return std::max<std::int64_t>(1, run.parallel.tp / run.model.kv_heads);
}

std::int64_t padded_vocab(const RunSpec& run) {
  if (!run.training.pad_vocab) {
    return run.model.vocab;
  }
  const std::int64_t multiple = 128 * run.parallel.tp;
  return (run.model.vocab + multiple - 1) / multiple * multiple;
}

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
                     {{Dim::head, m.heads}, {Dim::head_dim, m.head_dim}, h}, run)};
    case residual:  // the bias of the row-parallel product before it, added after the sum
      return m.bias == Bias::all ? std::vector<Tensor>{weight("output bias", kind, {h}, run)}
                                 : std::vector<Tensor>{};
    case up:
      return up_weights(run);
    case down:
      return {weight("down weight", kind, {{Dim::ffn, m.ffn}, h}, run)};
    case head:
      return {weight("head", kind, {vocab, h}, run)};
    case dropout:
    case rope:
    case attention:
    case activation:
    case loss:
      return {};
  }
  return {};
}

std::vector<SavedTensor> layer_saved(const RunSpec& run) {
  const Activations a{run};
  std::vector<SavedTensor> result;
  const std::vector<OperatorKind> kinds = layer_operators(run.model);
  for (std::int32_t place = 0; place < count(kinds); ++place) {
    for (SavedTensor& saved : operator_saved(a, at(kinds, place), place)) {
      result.push_back(std::move(saved));
    }
  }
  return result;
}

std::vector<SavedTensor> embedding_saved(const RunSpec& run) {
  const Activations a{run};
  const std::vector<OperatorKind> kinds = embedding_operators(run.model);
  if (kinds.back() != OperatorKind::dropout) {
    return {};
  }
  return {{a.mask("embedding dropout mask", OperatorKind::dropout, {a.b, a.s, a.h}), SavedAs::other,
           count(kinds) - 1}};
}

std::vector<SavedTensor> head_saved(const RunSpec& run) {
  const Activations a{run};
  const std::vector<SizedDim> bsh{a.b, a.s, a.h};
  Tensor logits = a.tensor("logits", OperatorKind::loss, Port::input,
                           {a.b, a.s, {Dim::vocab, padded_vocab(run)}});
  logits.element_bytes = 4;  // Megatron computes the loss in fp32 (arXiv 2205.05198 section 4.3)
  return {{a.tensor("final norm input", OperatorKind::norm, Port::input, bsh), SavedAs::other, 0},
          {a.tensor("head input", OperatorKind::norm, Port::output, bsh), SavedAs::other, 1},
          {std::move(logits), SavedAs::other, 2}};
}

Placement placement_of(const RunSpec& run, const Tensor& tensor, Axis axis) {
  const Placement placement = at_port(row_of(run.parallel, axis, tensor.op), tensor.port);
  const bool any = std::ranges::any_of(
      tensor.dims, [&](const SizedDim& dim) { return cuts(placement, dim.dim); });
  return any || placement == kPartial ? placement : kReplicate;
}

std::vector<SizedDim> local_dims(const RunSpec& run, const Tensor& tensor) {
  std::vector<SizedDim> result = tensor.dims;
  for (const Axis axis : kDenseAxes) {
    const Placement placement = placement_of(run, tensor, axis);
    for (SizedDim& dim : result) {
      if (cuts(placement, dim.dim)) {
        const std::int64_t parts = parts_of(dim, axis_size(run.parallel, axis));
        SHARDSIM_CHECK(dim.size % parts == 0,
                       tensor.name + " does not divide along " + std::string(name(dim.dim)));
        dim.size /= parts;
      }
    }
  }
  return result;
}

std::int64_t elements(const std::vector<SizedDim>& dims) {
  std::int64_t product = 1;
  for (const SizedDim& dim : dims) {
    product = checked_mul(product, dim.size);
  }
  return product;
}

std::int64_t local_elements(const RunSpec& run, const Tensor& tensor) {
  return elements(local_dims(run, tensor));
}

Bytes local_bytes(const RunSpec& run, const Tensor& tensor) {
  return Bytes{checked_mul(local_elements(run, tensor), tensor.element_bytes)};
}

std::int64_t copies(const RunSpec& run, const Tensor& tensor) {
  std::int64_t result = 1;
  for (const Axis axis : {Axis::tp, Axis::cp, Axis::dp}) {
    std::int64_t parts = 1;
    for (const SizedDim& dim : tensor.dims) {
      if (cuts(placement_of(run, tensor, axis), dim.dim)) {
        parts = parts_of(dim, axis_size(run.parallel, axis));
      }
    }
    result *= axis_size(run.parallel, axis) / parts;
  }
  return result;
}

}  // namespace shardsim
