#include "workload/operator_kernels.h"

#include "base/errors.h"
#include "sharding/tensors.h"
#include "workload/low_precision.h"

namespace shardsim {
namespace {

struct Sizes {  // of one micro batch on one rank
  explicit Sizes(const RunSpec& run);

  Precision precision;
  std::int64_t element;
  std::int64_t tokens;  // inside the tensor parallel region
  std::int64_t outer;   // elements of a norm's input
  std::int64_t hidden;  // whole
  std::int64_t query;   // local features
  std::int64_t key;     // of keys; as many of values
  std::int64_t heads;   // local
  std::int64_t head_dim;
  std::int64_t sequence;
  std::int64_t batch;
  std::int64_t gate;
  std::int64_t ffn;    // local
  std::int64_t vocab;  // local, padded
  std::int64_t table;  // local weights of embedding or head
  bool dropout;
  bool flash;
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

Sizes::Sizes(const RunSpec& run)
    : precision(tensor_precision(run.training.precision)),
      element(element_bytes(precision)),
      tokens(checked_mul(run.batch.micro, run.batch.sequence / run.parallel.cp)),
      outer(local_elements(run, probe(OperatorKind::norm, Port::input,
                                      {{Dim::batch, run.batch.micro * run.parallel.dp},
                                       {Dim::sequence, run.batch.sequence},
                                       {Dim::hidden, run.model.hidden}}))),
      hidden(run.model.hidden),
      heads(local_size(run,
                       probe(OperatorKind::attention, Port::input, {{Dim::head, run.model.heads}}),
                       Dim::head)),
      head_dim(run.model.head_dim),
      sequence(run.batch.sequence),
      batch(run.batch.micro),
      gate(run.model.gated_mlp ? 2 : 1),
      ffn(local_size(run, probe(OperatorKind::activation, Port::input, {{Dim::ffn, run.model.ffn}}),
                     Dim::ffn)),
      vocab(local_size(run,
                       probe(OperatorKind::loss, Port::input, {{Dim::vocab, padded_vocab(run)}}),
                       Dim::vocab)),
      table(local_elements(run, operator_weights(run, OperatorKind::head).front())),
      dropout(run.model.dropout > 0),
      flash(run.training.attention == AttentionKind::flash),
      vocab_parallel(vocab < padded_vocab(run)),
      accumulation(run.stack.grad_accumulation_bytes) {
  query = checked_mul(heads, head_dim);
  key = checked_mul(
      local_size(run,
                 probe(OperatorKind::attention, Port::input, {{Dim::kv_head, run.model.kv_heads}}),
                 Dim::kv_head),
      head_dim);
}

// `per_element` counts two-byte tensors; other element sizes scale it.
Step memory(std::string label, const Sizes& z, std::int64_t elements, std::int64_t per_element,
            bool elementwise = true) {
  KernelShape shape{.kind = KernelKind::memory, .precision = z.precision};
  shape.bytes = Bytes{checked_mul(elements, per_element * z.element) / 2};
  shape.elementwise = elementwise;
  return {std::move(label), shape, {}};
}

Step gemm(std::string label, const Sizes& z, std::int64_t m, std::int64_t n, std::int64_t k,
          std::int64_t batch = 1) {
  return {std::move(label),
          KernelShape{.kind = KernelKind::gemm,
                      .precision = z.precision,
                      .m = m,
                      .n = n,
                      .k = k,
                      .batch = batch},
          {}};
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
  kernels.output_gradient = Bytes{checked_mul(checked_mul(z.tokens, out), z.element)};
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
    Communication moved{
        .primitive = Primitive::all_gather,
        .group = axis_set(Axis::tp),
        .bytes = Bytes{checked_mul(checked_mul(z.tokens, out * run.parallel.tp), z.element)},
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

OperatorKernels flash_attention(const Sizes& z) {
  KernelShape shape{.kind = KernelKind::flash_attention,
                    .precision = z.precision,
                    .batch = checked_mul(z.batch, z.heads),
                    .sequence_q = z.sequence,
                    .sequence_kv = z.sequence,
                    .head_dim = z.head_dim};
  KernelShape backward = shape;
  backward.backward = true;
  return {{{"attention", shape, {}}}, {{"attention dgrad", backward, {}}}, {}};
}

// Two batched products with softmax between them; masked scores are computed all the same.
OperatorKernels unfused_attention(const Sizes& z) {
  const std::int64_t batch = checked_mul(z.batch, z.heads);
  const std::int64_t s = z.sequence;
  const std::int64_t d = z.head_dim;
  const std::int64_t scores = checked_mul(batch, checked_mul(s, s));
  OperatorKernels kernels;
  kernels.forward = {
      memory("attention layout", z, checked_mul(z.tokens, z.query), 8, false),
      gemm("attention scores", z, s, s, d, batch),
      memory("attention softmax", z, scores, 4, false),
  };
  kernels.dgrad = {gemm("attention values dgrad", z, s, s, d, batch),
                   gemm("attention dv", z, s, d, s, batch)};
  if (z.dropout) {
    kernels.forward.push_back(memory("attention dropout", z, scores, 5, false));
    kernels.dgrad.push_back(memory("attention dropout dgrad", z, scores, 5, false));
  }
  kernels.forward.push_back(gemm("attention values", z, s, d, s, batch));
  kernels.dgrad.push_back(memory("attention softmax dgrad", z, scores, 6, false));
  kernels.dgrad.push_back(gemm("attention dq", z, s, d, s, batch));
  kernels.dgrad.push_back(gemm("attention dk", z, s, d, s, batch));
  return kernels;
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

OperatorKernels plain_kernels(const RunSpec& run, OperatorKind kind) {
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
      return z.flash ? flash_attention(z) : unfused_attention(z);
    case attention_out:
      return linear(label, z, z.query, z.hidden);
    case residual:
      return elementwise(label, z, z.outer, z.dropout ? 7 : 6, z.dropout ? 7 : 4);
    case up:
      return linear(label, z, z.hidden, z.gate * z.ffn);
    case activation: {
      const bool gated = z.gate == 2;
      return elementwise(label, z, checked_mul(z.tokens, z.ffn), gated ? 6 : 4, gated ? 10 : 8);
    }
    case down:
      return linear(label, z, z.ffn, z.hidden);
    case head: {
      const Tensor weight = operator_weights(run, head).front();
      return linear(label, z, local_size(run, weight, Dim::hidden),
                    local_size(run, weight, Dim::vocab));
    }
    case loss:
      return loss_kernels(z);
  }
  SHARDSIM_CHECK(false, "operator without kernels");
}

}  // namespace

OperatorKernels operator_kernels(const RunSpec& run, OperatorKind kind) {
  OperatorKernels kernels = plain_kernels(run, kind);
  lower_precision(run, kind, kernels);
  return kernels;
}

std::int32_t core_launches(const RunSpec& run) {
  return run.training.attention == AttentionKind::flash ? 2 : 6;
}

std::int32_t forward_launches(const RunSpec& run) {
  return 16 + core_launches(run) + (run.parallel.tp > 1 ? 4 : 0);
}

std::int32_t backward_launches(const RunSpec& run) {
  return 30 + 2 * core_launches(run) + (run.parallel.tp > 1 ? 4 : 0);
}

}  // namespace shardsim
