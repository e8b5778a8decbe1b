#include "workload/attention_kernels.h"

#include "base/errors.h"
#include "base/ids.h"
#include "sharding/mla.h"
#include "sharding/tensors.h"
#include "workload/context.h"

namespace shardsim {
namespace {

// Traffic to merge the blocks of a ring, in bytes per element of two bytes and block. Forward
// scales each block's output by its share of the softmax and adds it up: 2 read, 4 written in fp32,
// 4 + 2 read, 2 written (Transformer Engine, flash_attn_fwd_out_correction; formats assumed).
// Backward adds gradients to what earlier blocks left: 2 + 2 read, 2 written.
constexpr std::int64_t kMergeBytes = 14;
constexpr std::int64_t kMergeGradientBytes = 6;

struct AttentionSizes {  // of one micro batch on one rank
  explicit AttentionSizes(const RunSpec& run);

  Precision precision;
  std::int64_t tokens;     // outside the core
  std::int64_t query;      // features outside the core
  std::int64_t batch;      // sequences x heads inside the core
  std::int64_t head_dim;   // of queries and keys
  std::int64_t value_dim;  // of values
  std::int64_t output;     // features of the core's output
  std::int64_t key_value;  // features of keys and values together
  std::int64_t queries;    // tokens of a sequence inside the core
  std::int64_t keys;
  bool dropout;
  [[nodiscard]] Bytes bytes(std::int64_t features) const {
    return Bytes{checked_mul(checked_mul(tokens, features), element_bytes(precision))};
  }
};

// Local features on the way into the core.
std::int64_t features(const RunSpec& run, Dim heads, std::int64_t count, std::int64_t width) {
  return local_elements(
      run, {"probe", OperatorKind::rope, Port::input, {{heads, count}, {Dim::head_dim, width}}, 1});
}

AttentionSizes::AttentionSizes(const RunSpec& run)
    : precision(tensor_precision(run.training.precision)),
      tokens(checked_mul(run.batch.micro, run.batch.sequence / run.parallel.cp)),
      query(features(run, Dim::head, run.model.heads, key_head_dim(run.model))),
      batch(checked_mul(run.batch.micro,
                        query / key_head_dim(run.model) / context_split(run).all_to_all)),
      head_dim(key_head_dim(run.model)),
      value_dim(value_head_dim(run.model)),
      output(query / head_dim * value_dim),
      key_value(features(run, Dim::kv_head, run.model.mla ? run.model.heads : run.model.kv_heads,
                         head_dim) /
                head_dim * (head_dim + value_dim)),
      queries(run.batch.sequence / context_split(run).ring),
      keys(run.batch.sequence),
      dropout(run.model.dropout > 0) {}

Step flash(const AttentionSizes& z, const AttentionBlock& block, bool backward) {
  KernelShape shape{.kind = KernelKind::flash_attention,
                    .precision = z.precision,
                    .batch = z.batch,
                    .sequence_q = block.queries,
                    .sequence_kv = block.keys,
                    .head_dim = z.head_dim,
                    .value_dim = z.value_dim == z.head_dim ? 0 : z.value_dim,
                    .causal = block.causal};
  shape.backward = backward;
  return {backward ? "attention dgrad" : "attention", shape, {}};
}

// Two batched products with softmax between them; masked scores are computed all the same.
void add_unfused(const AttentionSizes& z, OperatorKernels& kernels) {
  const std::int64_t q = z.queries;
  const std::int64_t k = z.keys;
  const std::int64_t d = z.head_dim;
  const std::int64_t v = z.value_dim;
  const std::int64_t scores = checked_mul(z.batch, checked_mul(q, k));
  const auto traffic = [&](const char* label, std::int64_t elements, std::int64_t per_element) {
    return memory_step(label, z.precision, elements, per_element, false);
  };
  const auto product = [&](const char* label, std::int64_t m, std::int64_t n, std::int64_t depth) {
    return gemm_step(label, z.precision, m, n, depth, z.batch);
  };
  std::vector<Step>& forward = kernels.forward;
  std::vector<Step>& dgrad = kernels.dgrad;
  forward.push_back(traffic("attention layout", checked_mul(z.tokens, z.query), 8));
  forward.push_back(product("attention scores", q, k, d));
  forward.push_back(traffic("attention softmax", scores, 4));
  dgrad.push_back(product("attention values dgrad", q, k, v));
  dgrad.push_back(product("attention dv", k, v, q));
  if (z.dropout) {
    forward.push_back(traffic("attention dropout", scores, 5));
    dgrad.push_back(traffic("attention dropout dgrad", scores, 5));
  }
  forward.push_back(product("attention values", q, v, k));
  dgrad.push_back(traffic("attention softmax dgrad", scores, 6));
  dgrad.push_back(product("attention dq", q, d, k));
  dgrad.push_back(product("attention dk", k, d, q));
}

Step exchange(const RunSpec& run, Primitive primitive, Bytes bytes, std::string trigger) {
  const ContextSplit split = context_split(run);
  Communication communication{.primitive = primitive,
                              .group = axis_set(Axis::cp),
                              .bytes = bytes,
                              .dtype = tensor_precision(run.training.precision),
                              .trigger = std::move(trigger)};
  if (split.all_to_all > 1 && split.ring > 1) {
    const auto runs = static_cast<std::int32_t>(split.all_to_all);
    communication.neighbours = primitive == Primitive::all_to_all ? runs : 0;
    communication.strided = primitive == Primitive::all_to_all ? 0 : runs;
  }
  return {communication.trigger, {}, communication};
}

// A transfer and the kernels of its step, beside each other or one after the other.
void add_ring_step(const RunSpec& run, Step transfer, std::vector<Step> kernels,
                   std::vector<Step>& steps) {
  const bool moves = transfer.communication.bytes > Bytes{0};
  transfer.beside = run.training.overlap.cp;
  if (moves && transfer.beside) {
    steps.push_back(transfer);
  }
  for (Step& kernel : kernels) {
    steps.push_back(std::move(kernel));
  }
  if (moves && !transfer.beside) {
    steps.push_back(std::move(transfer));
  }
}

void add_ring(const RunSpec& run, std::int32_t kind, const AttentionSizes& z,
              OperatorKernels& kernels) {
  const auto blocks = ring_blocks(run, kind);
  const std::int32_t ring = count(blocks);
  const auto flash_steps = [&](std::int32_t step, bool backward) {
    std::vector<Step> steps;
    for (const AttentionBlock& block : at(blocks, step)) {
      steps.push_back(flash(z, block, backward));
    }
    return steps;
  };
  const Bytes block = z.bytes(z.key_value);
  for (std::int32_t step = 0; step < ring; ++step) {
    const bool last = step + 1 == ring;
    add_ring_step(run, exchange(run, Primitive::shift, last ? Bytes{} : block, "attention KV"),
                  flash_steps(step, false), kernels.forward);
    // Backward goes round the other way: the keys of the next rank first, then those after it.
    const Bytes moved = block * ((last ? 0 : 1) + (step == 0 ? 0 : 1));
    add_ring_step(run,
                  exchange(run, Primitive::shift, moved,
                           last        ? "attention dKV"
                           : step == 0 ? "attention KV"
                                       : "attention KV dKV"),
                  flash_steps(ring - 1 - step, true), kernels.dgrad);
  }
  kernels.forward.push_back(memory_step(
      "attention merge", z.precision, checked_mul(ring, z.tokens * z.output), kMergeBytes, false));
  kernels.dgrad.push_back(memory_step("attention merge dgrad", z.precision,
                                      checked_mul(ring - 1, z.tokens * (z.query + z.key_value)),
                                      kMergeGradientBytes, false));
  kernels.forward_buffer += block * 2;   // keys and values at hand and arriving
  kernels.backward_buffer += block * 4;  // and their gradients
}

void add_core(const RunSpec& run, std::int32_t kind, const AttentionSizes& z,
              OperatorKernels& kernels) {
  if (run.training.attention == AttentionKind::unfused) {
    add_unfused(z, kernels);
    return;
  }
  for (const AttentionBlock& block : gathered_blocks(run, kind)) {
    kernels.forward.push_back(flash(z, block, false));
    kernels.dgrad.push_back(flash(z, block, true));
  }
}

// Keys and values are not kept whole: backward gathers them again.
void add_gathered(const RunSpec& run, std::int32_t kind, const AttentionSizes& z,
                  OperatorKernels& kernels) {
  const Bytes whole = z.bytes(z.key_value) * run.parallel.cp;
  const Step gather = exchange(run, Primitive::all_gather, whole, "attention KV");
  kernels.forward.push_back(gather);
  kernels.dgrad.push_back(gather);
  add_core(run, kind, z, kernels);
  kernels.dgrad.push_back(exchange(run, Primitive::reduce_scatter, whole, "attention dKV"));
  kernels.forward_buffer += whole;
  kernels.backward_buffer += whole * 2;
}

// The level of a2a+p2p that exchanges heads: before and after the ring, in either direction.
void wrap_in_exchanges(const RunSpec& run, OperatorKernels& kernels) {
  const auto trade = [&](Bytes bytes, const char* trigger) {
    return exchange(run, Primitive::all_to_all, bytes, trigger);
  };
  const Bytes in = attention_input_bytes(run);
  const Bytes out = attention_output_bytes(run);
  kernels.forward.insert(kernels.forward.begin(), trade(in, "attention"));
  kernels.forward.push_back(trade(out, "attention out"));
  kernels.dgrad.insert(kernels.dgrad.begin(), trade(out, "attention dgrad"));
  kernels.dgrad.push_back(trade(in, "rope dgrad"));
}

}  // namespace

Bytes attention_input_bytes(const RunSpec& run) {
  const AttentionSizes z(run);
  return z.bytes(z.query + z.key_value);
}

Bytes attention_output_bytes(const RunSpec& run) {
  const AttentionSizes z(run);
  return z.bytes(z.output);
}

OperatorKernels attention_kernels(const RunSpec& run, std::int32_t kind) {
  const AttentionSizes z(run);
  const ContextSplit split = context_split(run);
  OperatorKernels kernels;
  if (split.ring == 1) {
    add_core(run, kind, z, kernels);
  } else if (run.parallel.cp_comm == CpComm::all_gather) {
    add_gathered(run, kind, z, kernels);
  } else {
    add_ring(run, kind, z, kernels);
  }
  if (split.all_to_all > 1) {
    kernels.forward_buffer += attention_input_bytes(run);  // what is sent, beside what arrives
    kernels.backward_buffer += attention_input_bytes(run);
    if (run.parallel.cp_comm == CpComm::a2a_p2p) {
      wrap_in_exchanges(run, kernels);
    }
  }
  return kernels;
}

}  // namespace shardsim
