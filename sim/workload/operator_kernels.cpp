#include "workload/operator_kernels.h"

#include <iterator>

#include "base/errors.h"
#include "sharding/mla.h"
#include "sharding/tensors.h"
#include "workload/attention_kernels.h"
#include "workload/context.h"
#include "workload/low_precision.h"
#include "workload/moe_kernels.h"

namespace shardsim {
namespace {

struct Sizes {  // of one micro batch on one rank
  explicit Sizes(const RunSpec& run);

  Precision precision;
  std::int64_t tokens;   // inside the tensor parallel region
  std::int64_t outer;    // elements of a norm's input
  std::int64_t hidden;   // whole
  std::int64_t query;    // local features
  std::int64_t key;      // of keys; as many of values
  std::int64_t heads;    // local
  std::int64_t key_dim;  // of a head's queries and keys
  std::int64_t value_dim;
  std::int64_t gate;
  std::int64_t ffn;         // local
  std::int64_t shared = 0;  // local width of the shared experts
  std::int64_t vocab;       // local, padded
  std::int64_t table;       // local weights of embedding or head
  bool dropout;
  bool vocab_parallel;  // the loss is summed over tp
  Bytes accumulation;   // traffic per weight in a wgrad
};

std::int64_t local_size(const RunSpec& run, const Tensor& tensor, Dim dim) {
  for (const SizedDim& sized : local_dims(run, tensor)) {
    if (sized.dim == dim) {
      return sized.size;
    }
  }
  SHARDSIM_CHECK(false, tensor.name + " has no such dimension");
}

Tensor probe(OperatorKind op, Port port, std::vector<SizedDim> dims) {
  return {"probe", op, port, std::move(dims), 1};
}

std::int64_t local_heads(const RunSpec& run, Dim heads, std::int64_t count) {
  return local_size(run, probe(OperatorKind::rope, Port::input, {{heads, count}}), heads);
}

Sizes::Sizes(const RunSpec& run)
    : precision(tensor_precision(run.training.precision)),
      tokens(checked_mul(run.batch.micro, run.batch.sequence / run.parallel.cp)),
      outer(local_elements(run, probe(OperatorKind::norm, Port::input,
                                      {{Dim::batch, run.batch.micro * run.parallel.dp},
                                       {Dim::sequence, run.batch.sequence},
                                       {Dim::hidden, run.model.hidden}}))),
      hidden(run.model.hidden),
      query(checked_mul(local_heads(run, Dim::head, run.model.heads), key_head_dim(run.model))),
      key(checked_mul(
          local_heads(run, Dim::kv_head, run.model.mla ? run.model.heads : run.model.kv_heads),
          key_head_dim(run.model))),
      heads(local_heads(run, Dim::head, run.model.heads)),
      key_dim(key_head_dim(run.model)),
      value_dim(value_head_dim(run.model)),
      gate(run.model.gated_mlp ? 2 : 1),
      ffn(local_size(run, probe(OperatorKind::activation, Port::input, {{Dim::ffn, run.model.ffn}}),
                     Dim::ffn)),
      vocab(local_size(run,
                       probe(OperatorKind::loss, Port::input, {{Dim::vocab, padded_vocab(run)}}),
                       Dim::vocab)),
      table(local_elements(run, operator_weights(run, OperatorKind::head).front())),
      dropout(run.model.dropout > 0),
      vocab_parallel(vocab < padded_vocab(run)),
      accumulation(run.stack.grad_accumulation_bytes) {
  if (run.model.moe) {
    shared = run.model.moe->shared_ffn / run.parallel.tp;
  }
}

Step memory(std::string label, const Sizes& z, std::int64_t elements, std::int64_t per_element,
            bool elementwise = true) {
  return memory_step(std::move(label), z.precision, elements, per_element, elementwise);
}

Step gemm(std::string label, const Sizes& z, std::int64_t m, std::int64_t n, std::int64_t k) {
  return gemm_step(std::move(label), z.precision, m, n, k);
}

// A product of tokens with a weight of [in, out], and its two gradients.
OperatorKernels linear(const std::string& label, const Sizes& z, std::int64_t in,
                       std::int64_t out) {
  OperatorKernels kernels;
  kernels.forward = {gemm(label, z, z.tokens, out, in)};
  kernels.dgrad = {gemm(label + " dgrad", z, z.tokens, in, out)};
  Step wgrad = gemm(label + " wgrad", z, out, in, z.tokens);
  wgrad.kernel.bytes = Bytes{checked_mul(checked_mul(in, out), z.accumulation.value())};
  kernels.wgrad = {wgrad};
  kernels.output_gradient =
      Bytes{checked_mul(checked_mul(z.tokens, out), element_bytes(z.precision))};
  return kernels;
}

// The fused product of queries, keys and values. Gathered (kv_strategy gather), its output is made
// whole over tp before each rank keeps its heads, and the gradients of all ranks are summed back.
OperatorKernels qkv_kernels(const RunSpec& run, const Sizes& z) {
  std::int64_t out = 0;  // features of this rank's product
  for (const Tensor& weight : operator_weights(run, OperatorKind::qkv)) {
    const bool is_matrix = weight.dims.front().dim == Dim::hidden;
    out += is_matrix ? local_elements(run, weight) / z.hidden : 0;
  }
  OperatorKernels kernels = linear("qkv", z, z.hidden, out);
  if (gathers_qkv(run)) {
    Communication moved{.primitive = Primitive::all_gather,
                        .group = axis_set(Axis::tp),
                        .bytes = Bytes{checked_mul(checked_mul(z.tokens, out * run.parallel.tp),
                                                   element_bytes(z.precision))},
                        .dtype = z.precision,
                        .trigger = "qkv heads"};
    kernels.forward.push_back({"qkv heads", {}, moved});
    moved.primitive = Primitive::reduce_scatter;
    moved.trigger = "qkv heads dgrad";
    kernels.dgrad.insert(kernels.dgrad.begin(), {"qkv heads dgrad", {}, moved});
  }
  return kernels;
}

OperatorKernels elementwise(const std::string& label, const Sizes& z, std::int64_t elements,
                            std::int64_t forward, std::int64_t backward) {
  return {
      {memory(label, z, elements, forward)}, {memory(label + " dgrad", z, elements, backward)}, {}};
}

void append(OperatorKernels& all, OperatorKernels more) {
  const auto move_into = [](std::vector<Step>& to, std::vector<Step>& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  move_into(all.forward, more.forward);
  move_into(all.dgrad, more.dgrad);
  move_into(all.wgrad, more.wgrad);
  all.output_gradient += more.output_gradient;
}

// Widths that the latent norms see.
std::int64_t latents(const RunSpec& run) {
  return run.model.mla->q_lora_rank + run.model.mla->kv_lora_rank;
}

// Of the tokens that the rank holds outside the tensor parallel region.
OperatorKernels mla_down_kernels(const RunSpec& run, Sizes z) {
  const MlaSpec& mla = *run.model.mla;
  z.tokens = z.outer / z.hidden;
  OperatorKernels kernels;
  if (mla.q_lora_rank > 0) {
    append(kernels, linear("q down", z, z.hidden, mla.q_lora_rank));
  }
  append(kernels, linear("kv down", z, z.hidden, mla.kv_lora_rank + mla.qk_rope_head_dim));
  return kernels;
}

OperatorKernels mla_up_kernels(const RunSpec& run, const Sizes& z) {
  const MlaSpec& mla = *run.model.mla;
  OperatorKernels kernels = linear("q up", z, mla.q_lora_rank > 0 ? mla.q_lora_rank : z.hidden,
                                   checked_mul(z.heads, z.key_dim));
  append(kernels, linear("kv up", z, mla.kv_lora_rank,
                         checked_mul(z.heads, mla.qk_nope_head_dim + mla.v_head_dim)));
  return kernels;
}

OperatorKernels activation_kernels(const std::string& label, const Sizes& z, std::int64_t ffn) {
  const bool gated = z.gate == 2;
  return elementwise(label, z, checked_mul(z.tokens, ffn), gated ? 6 : 4, gated ? 10 : 8);
}

// Sums of the vocab-parallel cross-entropy: a named exception of the sharding algebra.
Step loss_sum(const std::string& trigger, const Sizes& z) {
  Communication communication{.primitive = Primitive::all_reduce,
                              .group = axis_set(Axis::tp),
                              .bytes = Bytes{checked_mul(4, z.tokens)},
                              .dtype = Precision::fp32,
                              .trigger = trigger};
  return {trigger, {}, std::move(communication)};
}

OperatorKernels loss_kernels(const Sizes& z) {
  const std::int64_t logits = checked_mul(z.tokens, z.vocab);
  if (!z.vocab_parallel) {
    return elementwise("loss", z, logits, 24, 12);
  }
  // The 30 bytes a logit are split over the three passes between the sums; the split is assumed.
  OperatorKernels kernels;
  kernels.forward = {memory("loss", z, logits, 10),    loss_sum("loss maximum", z),
                     memory("loss", z, logits, 12),    loss_sum("loss predicted logit", z),
                     loss_sum("loss exponentials", z), memory("loss", z, logits, 8)};
  kernels.dgrad = {memory("loss dgrad", z, logits, 15)};
  return kernels;
}

OperatorKernels embedding_kernels(const RunSpec& run, const Sizes& z) {
  const bool hidden_cut = run.parallel.vocab_cut == VocabCut::hidden;
  const std::int64_t elements =
      checked_mul(z.tokens, hidden_cut ? z.hidden / run.parallel.tp : z.hidden);
  Step backward = memory("embedding wgrad", z, elements, 8, false);
  backward.kernel.bytes += Bytes{checked_mul(6, z.table)};
  return {{memory("embedding", z, elements, 10, false)}, {}, {backward}};
}

}  // namespace

Step memory_step(std::string label, Precision precision, std::int64_t elements,
                 std::int64_t per_element, bool elementwise) {
  KernelShape shape{.kind = KernelKind::memory, .precision = precision};
  shape.bytes = Bytes{checked_mul(elements, per_element * element_bytes(precision)) / 2};
  shape.elementwise = elementwise;
  return {std::move(label), shape, {}};
}

Step gemm_step(std::string label, Precision precision, std::int64_t m, std::int64_t n,
               std::int64_t k, std::int64_t batch) {
  return {
      std::move(label),
      KernelShape{
          .kind = KernelKind::gemm, .precision = precision, .m = m, .n = n, .k = k, .batch = batch},
      {}};
}

namespace {

// Before low precision.
OperatorKernels plain_kernels(const RunSpec& run, OperatorKind kind, const RankVariant& variant) {
  using enum OperatorKind;
  const Sizes z(run);
  const std::string label{name(kind)};
  switch (kind) {
    case embedding:
      return embedding_kernels(run, z);
    case position:  // within the embedding's traffic
    case dropout:
      return {};
    case norm:
      return elementwise(label, z, z.outer, 4, 11);
    case qkv:
      return qkv_kernels(run, z);
    case qk_norm:
      return elementwise(label, z, checked_mul(z.tokens, z.query + z.key), 4, 11);
    case rope:  // queries and keys read and written once: assumed
      return elementwise(label, z, checked_mul(z.tokens, z.query + z.key), 4, 4);
    case attention:
      return attention_kernels(run, variant.attention_kind);
    case attention_out:
      return linear(label, z, checked_mul(z.heads, z.value_dim), z.hidden);
    case residual:
      return elementwise(label, z, z.outer, z.dropout ? 7 : 6, z.dropout ? 7 : 4);
    case up:
      return linear(label, z, z.hidden, z.gate * z.ffn);
    case activation:
      return activation_kernels(label, z, z.ffn);
    case down:
      return linear(label, z, z.ffn, z.hidden);
    case head: {
      const Tensor weight = operator_weights(run, head).front();
      return linear(label, z, local_size(run, weight, Dim::hidden),
                    local_size(run, weight, Dim::vocab));
    }
    case mtp_projection: {
      OperatorKernels kernels =
          linear(label, z, 2 * z.hidden,
                 local_size(run, operator_weights(run, kind).front(), Dim::hidden));
      // Both vectors copied beside each other.
      kernels.forward.insert(kernels.forward.begin(), memory("mtp concat", z, 2 * z.outer, 4));
      return kernels;
    }
    case mtp_output:
      return {};
    case loss:
      return loss_kernels(z);
    case shared_up:
      return linear(label, z, z.hidden, z.gate * z.shared);
    case shared_activation:
      return activation_kernels(label, z, z.shared);
    case shared_down:
      return linear(label, z, z.shared, z.hidden);
    case mla_down:
      return mla_down_kernels(run, z);
    case mla_norm:
      return elementwise(label, z, checked_mul(z.outer / z.hidden, latents(run)), 4, 11);
    case mla_up:
      return mla_up_kernels(run, z);
    default:
      return moe_kernels(run, kind, variant.load);
  }
}

}  // namespace

OperatorKernels operator_kernels(const RunSpec& run, OperatorKind kind,
                                 const RankVariant& variant) {
  OperatorKernels kernels = plain_kernels(run, kind, variant);
  lower_precision(run, kind, kernels);
  return kernels;
}

std::int32_t core_launches(const RunSpec& run) {
  const auto blocks = static_cast<std::int32_t>(
      run.parallel.cp_comm == CpComm::all_gather ? 1 : context_split(run).ring);
  return run.training.attention == AttentionKind::flash ? 2 * blocks : 6;
}

std::int32_t forward_launches(const RunSpec& run, LayerKind layer) {
  return 16 + (layer == LayerKind::moe ? moe_launches(run) : 0) + core_launches(run) +
         (run.parallel.tp > 1 ? 4 : 0);
}

std::int32_t backward_launches(const RunSpec& run, LayerKind layer) {
  return 30 + (layer == LayerKind::moe ? moe_launches(run) : 0) + 2 * core_launches(run) +
         (run.parallel.tp > 1 ? 4 : 0);
}

}  // namespace shardsim
