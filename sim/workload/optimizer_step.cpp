#include "workload/optimizer_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "sharding/derive.h"

namespace shardsim {
namespace {

// Traffic of one parameter's update in mixed precision, fp32 copies of gradients, their norm and
// scaling included: chosen against published Megatron runs. Plain momentum reads and writes one
// moment of 4 bytes less.
constexpr std::int64_t kAdamBytesPerParameter = 80;
constexpr std::int64_t kSgdBytesPerParameter = 72;
// fp32 weights have no second copy: read weight, gradient and two moments, write all but the
// gradient (28 B), read for the norm and scaled before (12 B).
constexpr std::int64_t kAdamBytesPerFp32Parameter = 40;
constexpr std::int64_t kSgdBytesPerFp32Parameter = 32;

constexpr StreamMask kEverything = static_cast<StreamMask>((1U << kStreamCount) - 1);

std::int64_t partial_in(const RunSpec& run, const std::vector<OperatorKind>& kinds) {
  std::int64_t sum = 0;
  for (const OperatorKind kind : kinds) {
    if (is_expert(kind)) {
      continue;  // their tokens and slices are those of the experts' grid
    }
    for (const Tensor& weight : operator_weights(run, kind)) {
      const Placement placed = placement_of(run, weight, Axis::tp);
      if (weight_gradient(run.parallel, Axis::tp, kind, placed) == kPartial) {
        sum += local_elements(run, weight);
      }
    }
  }
  return sum;
}

AxisSet norm_group(const RunSpec& run) {
  AxisSet group = run.parallel.zero >= 1 ? data_group(run) : AxisSet{0};
  for (const Axis axis : {Axis::tp, Axis::pp}) {
    if (axis_size(run.parallel, axis) > 1) {
      group = static_cast<AxisSet>(group | axis_set(axis));
    }
  }
  return group;
}

void reduce_gradients(const RunSpec& run, const ModelChains& chains,
                      const std::vector<Chunk>& chunks, PassBuilder& pass) {
  for (const Chunk& chunk : chunks) {
    const LocalParameters parameters = chunk_parameters(chains, chunk);
    if (parameters.total() == 0) {
      continue;
    }
    for (const Communication& sum : gradient_reduce(run, parameters)) {
      pass.communicate(Stream::dp, Category::dp, sum, {}, mask(Stream::compute));
    }
  }
}

// Of gradients that are summed after the data-parallel reduction: the rank's shard of them.
Bytes gradient_bytes(const RunSpec& run, std::int64_t parameters) {
  const std::int64_t shards = gradient_shards(run);
  return Bytes{
      checked_mul((parameters + shards - 1) / shards, element_bytes(run.training.grad_dtype))};
}

void sum_replicated(const RunSpec& run, const std::vector<Chunk>& chunks, PassBuilder& pass) {
  const std::int64_t parameters = tp_partial_parameters(run, chunks);
  if (parameters == 0) {
    return;
  }
  const Communication sum{.primitive = Primitive::all_reduce,
                          .group = axis_set(Axis::tp),
                          .bytes = gradient_bytes(run, parameters),
                          .dtype = run.training.grad_dtype,
                          .trigger = "replicated gradients"};
  pass.communicate(Stream::tp, Category::tp, sum, {}, mask(Stream::dp));
}

// Each sharer of a KV head has the gradient that its own queries left.
void sum_shared_heads(const RunSpec& run, const std::vector<Chunk>& chunks, PassBuilder& pass) {
  const std::int64_t sharers = kv_sharers(run);
  if (sharers == 1) {
    return;
  }
  std::int64_t per_layer = 0;
  for (const Tensor& weight : operator_weights(run, OperatorKind::qkv)) {
    const bool shared = std::ranges::any_of(
        weight.dims, [](const SizedDim& dim) { return dim.dim == Dim::kv_head; });
    per_layer += shared ? local_elements(run, weight) : 0;
  }
  std::int64_t layers = 0;
  for (const Chunk& chunk : chunks) {
    layers += chunk.layers + chunk.mtp;
  }
  if (layers == 0) {
    return;
  }
  const Communication sum{.primitive = Primitive::all_reduce,
                          .group = axis_set(Axis::tp),
                          .bytes = gradient_bytes(run, checked_mul(per_layer, layers)),
                          .dtype = run.training.grad_dtype,
                          .trigger = "shared KV heads",
                          .neighbours = static_cast<std::int32_t>(sharers)};
  pass.communicate(Stream::tp, Category::tp, sum, {}, mask(Stream::dp));
}

void sum_copied_embeddings(const RunSpec& run, const std::vector<Chunk>& chunks,
                           PassBuilder& pass) {
  const bool at_end = chunks.front().first || chunks.back().last;
  const bool twice = run.model.tied_embeddings || copies_embedding(run);
  // A bidirectional pipeline's end stages hold both tables: summed with the mirrored parts.
  if (!twice || run.parallel.pp == 1 || !at_end || chunks.back().mirrored) {
    return;
  }
  const Tensor table = operator_weights(run, OperatorKind::embedding).front();
  const Communication sum{
      .primitive = Primitive::all_reduce,
      .group = axis_set(Axis::pp),
      .bytes = gradient_bytes(run, local_elements(run, table)),
      .dtype = run.training.grad_dtype,
      .trigger = run.model.tied_embeddings ? "tied embeddings" : "MTP embedding",
      .end_stages_only = true};
  pass.communicate(Stream::dp, Category::pp, sum, {}, mask(Stream::tp));
}

// Both copies of each part of a bidirectional pipeline: a stage and its mirror image hold the same
// two, each rank the shard that ZeRO has left it.
void sum_mirrored(const RunSpec& run, const ModelChains& chains, const std::vector<Chunk>& chunks,
                  PassBuilder& pass) {
  if (!chunks.back().mirrored) {
    return;
  }
  const std::int64_t held = held_of(run, stage_parameters(chains, chunks), run.parallel.zero >= 1);
  const Communication sum{.primitive = Primitive::all_reduce,
                          .group = axis_set(Axis::pp),
                          .bytes = Bytes{checked_mul(held, element_bytes(run.training.grad_dtype))},
                          .dtype = run.training.grad_dtype,
                          .trigger = "mirrored parts",
                          .mirrored_stages = true};
  pass.communicate(Stream::dp, Category::pp, sum, {}, mask(Stream::tp));
}

void sum_norm(const RunSpec& run, PassBuilder& pass) {
  const AxisSet group = norm_group(run);
  if (group == 0) {
    return;
  }
  const Communication sum{.primitive = Primitive::all_reduce,
                          .group = group,
                          .bytes = Bytes{4},
                          .dtype = Precision::fp32,
                          .trigger = "gradient norm"};
  pass.wait(pass.communicate(Stream::dp, Category::other, sum, {}, kEverything));
}

// Experts are cut over other axes than the rest; their share of the norm is summed apart where the
// groups above do not cover it (Megatron: the expert model parallel group).
void sum_expert_norm(const RunSpec& run, PassBuilder& pass) {
  AxisSet group = 0;
  for (const Axis axis : {Axis::etp, Axis::ep, Axis::pp}) {
    if (axis_size(run.parallel, axis) > 1) {
      group = static_cast<AxisSet>(group | axis_set(axis));
    }
  }
  const bool cut = run.parallel.etp * run.parallel.ep > 1;
  if (!run.model.moe || !cut || run.parallel.zero >= 1) {
    return;
  }
  const Communication sum{.primitive = Primitive::all_reduce,
                          .group = group,
                          .bytes = Bytes{4},
                          .dtype = Precision::fp32,
                          .trigger = "expert gradient norm"};
  pass.wait(pass.communicate(Stream::dp, Category::other, sum, {}, kEverything));
}

void update(const RunSpec& run, LocalParameters parameters, PassBuilder& pass) {
  const std::int64_t held = held_of(run, parameters, run.parallel.zero >= 1);
  const bool fp32 = run.training.param_dtype == Precision::fp32;
  const std::int64_t adam = fp32 ? kAdamBytesPerFp32Parameter : kAdamBytesPerParameter;
  const std::int64_t sgd = fp32 ? kSgdBytesPerFp32Parameter : kSgdBytesPerParameter;
  KernelShape shape{.kind = KernelKind::memory, .precision = Precision::fp32};
  shape.bytes = Bytes{checked_mul(held, run.training.optimizer == Optimizer::adam ? adam : sgd)};
  shape.elementwise = true;
  pass.kernel("optimizer", shape, Category::optimizer);
}

void gather_parameters(const RunSpec& run, const ModelChains& chains,
                       const std::vector<Chunk>& chunks, PassBuilder& pass) {
  for (const Chunk& chunk : chunks) {
    const Buckets buckets =
        fill_buckets(gradient_units(chains, chunk), bucket_limit(run, chunk.first));
    for (const std::size_t i : gather_order(buckets)) {
      for (const Communication& gather : parameter_gather(run, buckets.buckets[i].local())) {
        pass.communicate(Stream::dp, Category::dp, gather);
      }
    }
  }
}

}  // namespace

std::int64_t tp_partial_parameters(const RunSpec& run, const std::vector<Chunk>& chunks) {
  if (run.parallel.tp == 1) {
    return 0;
  }
  const std::int64_t dense = partial_in(run, layer_operators(run.model));
  const std::int64_t moe =
      run.model.moe ? partial_in(run, layer_operators(run.model, LayerKind::moe)) : 0;
  std::int64_t sum = 0;
  for (const Chunk& chunk : chunks) {
    for (const LayerKind kind : chunk.kinds) {
      sum = checked_add(sum, kind == LayerKind::moe ? moe : dense);
    }
    sum += chunk.first ? partial_in(run, embedding_operators(run.model)) : 0;
    sum += chunk.last ? partial_in(run, head_operators()) : 0;
    if (chunk.mtp > 0) {  // the norm before the head, and the layer; the head is not theirs
      const std::int64_t each = checked_add(partial_in(run, mtp_operators(run.model)),
                                            partial_in(run, {OperatorKind::norm}));
      sum = checked_add(sum, checked_mul(chunk.mtp, each));
    }
  }
  return sum;
}

PassTemplate step_end_pass(const RunSpec& run, const ModelChains& chains,
                           const std::vector<Chunk>& chunks, ProgramTables& tables) {
  PassBuilder pass(tables, fmt::format("step end of stage {}", chunks.front().stage),
                   PassKind::step_end);
  const LocalParameters parameters = stage_parameters(chains, chunks);
  pass.host(Stream::compute, "begin", 0, static_cast<StreamMask>(kEverything & ~mask(Stream::dp)));
  if (!reduces_beside_backward(run)) {
    reduce_gradients(run, chains, chunks, pass);
  }
  sum_replicated(run, chunks, pass);
  sum_shared_heads(run, chunks, pass);
  sum_copied_embeddings(run, chunks, pass);
  sum_mirrored(run, chains, chunks, pass);
  sum_norm(run, pass);
  sum_expert_norm(run, pass);
  pass.host(Stream::compute, "gradients done", 0, kEverything);
  update(run, parameters, pass);
  if (gathers_parameters(run) && !gathers_beside_forward(run)) {
    gather_parameters(run, chains, chunks, pass);
  }
  return pass.finish();
}

}  // namespace shardsim
