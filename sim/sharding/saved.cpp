// The activations that forward leaves for backward.
#include "base/ids.h"
#include "sharding/mla.h"
#include "sharding/moe.h"
#include "sharding/tensors.h"

namespace shardsim {
namespace {

struct Activations {  // builds the saved tensors of a run
  const RunSpec& run;
  SizedDim b{Dim::batch, run.batch.micro* run.parallel.dp};
  SizedDim s{Dim::sequence, run.batch.sequence};
  SizedDim h{Dim::hidden, run.model.hidden};
  SizedDim heads{Dim::head, run.model.heads};
  // Under mla every head has keys and values of its own.
  SizedDim kv{Dim::kv_head, run.model.mla ? run.model.heads : run.model.kv_heads};
  SizedDim d{Dim::head_dim, key_head_dim(run.model)};
  SizedDim dv{Dim::head_dim, value_head_dim(run.model)};
  SizedDim ffn{Dim::ffn, run.model.ffn};
  SizedDim key{Dim::key, run.batch.sequence};
  std::int64_t element = element_bytes(tensor_precision(run.training.precision));

  [[nodiscard]] Tensor tensor(std::string name, OperatorKind op, Port port,
                              std::vector<SizedDim> dims) const {
    return {std::move(name), op, port, std::move(dims), element};
  }
  // What a linear layer of a block keeps of its input.
  [[nodiscard]] Tensor factor(std::string name, OperatorKind op, Port port,
                              std::vector<SizedDim> dims) const {
    Tensor result = tensor(std::move(name), op, port, std::move(dims));
    result.element_bytes = factor_bytes(run.training.precision);
    return result;
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
  result.push_back({a.tensor("values", op, Port::input, {a.b, a.s, a.kv, a.dv})});
  // Where heads are exchanged after the core, its output is another tensor than what the output
  // matrix product stores (Transformer Engine, context_parallel.py saves both).
  const bool exchanged = a.run.parallel.cp > 1 && (a.run.parallel.cp_comm == CpComm::a2a ||
                                                   a.run.parallel.cp_comm == CpComm::a2a_p2p);
  if (exchanged && a.run.training.attention == AttentionKind::flash) {
    result.push_back(
        {a.tensor("attention output by heads", op, Port::output, {a.b, a.s, a.heads, a.dv}),
         SavedAs::core});
  }
  for (Tensor& tensor : core_saved(a)) {
    result.push_back({std::move(tensor), SavedAs::core});
  }
  for (SavedTensor& saved : result) {
    saved.place = place;
  }
  return result;
}

// The core needs its output in backward, the product after it its input: one tensor, or two where
// the product keeps an eight-bit one.
std::vector<SavedTensor> attention_output_saved(const Activations& a, std::int32_t place) {
  const OperatorKind op = OperatorKind::attention_out;
  const std::vector<SizedDim> dims{a.b, a.s, a.heads, a.dv};
  std::vector<SavedTensor> result{
      {a.tensor("attention output", op, Port::input, dims), SavedAs::other, place}};
  if (is_low(a.run.training.precision)) {
    result.push_back(
        {a.factor("attention out input", op, Port::input, dims), SavedAs::other, place});
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
      return {{a.tensor("norm input", norm, Port::input, bsh), SavedAs::other, place}};
    case qkv:
      return {{a.factor("qkv input", norm, Port::output, bsh), SavedAs::other, place}};
    case qk_norm:
      return {{a.tensor("queries before norm", qk_norm, Port::input, {a.b, a.s, a.heads, a.d}),
               SavedAs::other, place},
              {a.tensor("keys before norm", qk_norm, Port::input, {a.b, a.s, a.kv, a.d}),
               SavedAs::other, place}};
    case attention:
      return attention_saved(a, place);
    case mtp_projection:
      return {{a.tensor("mtp projection input", norm, Port::output,
                        {a.b, a.s, {Dim::concatenated, 2 * a.run.model.hidden}}),
               SavedAs::other, place}};
    case mtp_output:
      return {};
    case attention_out:
      return attention_output_saved(a, place);
    case residual:
      if (a.run.model.dropout > 0) {
        return {{a.mask("dropout mask", residual, bsh), SavedAs::other, place}};
      }
      return {};
    case up:
      return {{a.factor("up input", norm, Port::output, bsh), SavedAs::other, place}};
    case activation:
      return {{a.tensor("activation input", activation, Port::input,
                        {a.b, a.s, {Dim::gate, a.run.model.gated_mlp ? 2 : 1}, a.ffn}),
               SavedAs::other, place}};
    case down:
      return {{a.factor("down input", activation, Port::output, {a.b, a.s, a.ffn}), SavedAs::other,
               place}};
    case mla_down:
    case mla_norm:
    case mla_up:
      return mla_saved(a.run, kind, place);
    default:
      return moe_saved(a.run, kind, place);
  }
}

// `inputs`: so many operators at the beginning take what comes from outside the chain.
std::vector<SavedTensor> chain_saved(const RunSpec& run, const std::vector<OperatorKind>& kinds,
                                     std::int32_t inputs) {
  const Activations a{run};
  std::vector<SavedTensor> result;
  for (std::int32_t place = 0; place < count(kinds); ++place) {
    for (SavedTensor& saved : operator_saved(a, at(kinds, place), place)) {
      if (place < inputs) {
        saved.as = SavedAs::layer_input;
      }
      result.push_back(std::move(saved));
    }
  }
  return result;
}

}  // namespace

std::vector<SavedTensor> layer_saved(const RunSpec& run, LayerKind layer) {
  return chain_saved(run, layer_operators(run.model, layer), 1);
}

std::vector<SavedTensor> mtp_saved(const RunSpec& run) {
  return chain_saved(run, mtp_operators(run.model), 2);
}

std::vector<SavedTensor> embedding_saved(const RunSpec& run) {
  const Activations a{run};
  const std::vector<SizedDim> bsh{a.b, a.s, a.h};
  const std::vector<OperatorKind> kinds = embedding_operators(run.model);
  std::vector<SavedTensor> result;
  for (std::int32_t place = 0; place < count(kinds); ++place) {
    if (at(kinds, place) == OperatorKind::norm) {
      result.push_back({a.tensor("embedding norm input", OperatorKind::norm, Port::input, bsh),
                        SavedAs::other, place});
    } else if (at(kinds, place) == OperatorKind::dropout) {
      result.push_back(
          {a.mask("embedding dropout mask", OperatorKind::dropout, bsh), SavedAs::other, place});
    }
  }
  return result;
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

}  // namespace shardsim
