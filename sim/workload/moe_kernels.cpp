#include "workload/moe_kernels.h"

#include <algorithm>

#include "base/errors.h"
#include "sharding/derive.h"
#include "sharding/moe.h"

namespace shardsim {
namespace {

struct Sizes {  // of one micro batch on one rank
  Sizes(const RunSpec& run, double load)
      : precision(tensor_precision(run.training.precision)),
        element(element_bytes(precision)),
        dispatched(element_bytes(run.model.moe->dispatch_dtype)),
        hidden(run.model.hidden),
        experts(run.model.moe->experts),
        gate(run.model.gated_mlp ? 2 : 1),
        ffn(run.model.moe->expert_ffn / run.parallel.etp),
        copies(routed_tokens(run)),
        tokens(copies / run.model.moe->top_k),
        arrived(scaled(copies, load)),
        received(expert_tokens(run, load)),
        local(local_experts(run)),
        accumulation(run.stack.grad_accumulation_bytes) {}

  Precision precision;
  std::int64_t element;
  std::int64_t dispatched;  // bytes of an element on its way to experts
  std::int64_t hidden;
  std::int64_t experts;
  std::int64_t gate;
  std::int64_t ffn;
  std::int64_t copies;    // sent
  std::int64_t tokens;    // routed
  std::int64_t arrived;   // from the ep group
  std::int64_t received;  // seen by the experts: of the whole etp group
  std::int64_t local;     // experts
  Bytes accumulation;
};

Step memory(std::string label, const Sizes& z, std::int64_t bytes) {
  KernelShape shape{.kind = KernelKind::memory, .precision = z.precision};
  shape.bytes = Bytes{bytes};
  return {std::move(label), shape, {}};
}

Step product(std::string label, const KernelShape& shape) { return {std::move(label), shape, {}}; }

OperatorKernels traffic(const std::string& label, const Sizes& z, std::int64_t forward,
                        std::int64_t backward) {
  OperatorKernels kernels;
  kernels.forward = {memory(label, z, forward)};
  kernels.dgrad = {memory(label + " dgrad", z, backward)};
  return kernels;
}

OperatorKernels router_kernels(const Sizes& z) {
  const KernelShape gating{.kind = KernelKind::gemm,
                           .precision = z.precision,
                           .m = z.tokens,
                           .n = z.experts,
                           .k = z.hidden};
  KernelShape dgrad = gating;
  std::swap(dgrad.n, dgrad.k);
  KernelShape wgrad{.kind = KernelKind::gemm,
                    .precision = z.precision,
                    .m = z.experts,
                    .n = z.hidden,
                    .k = z.tokens};
  const std::int64_t weights = checked_mul(z.experts, z.hidden);
  wgrad.bytes = Bytes{checked_mul(weights, z.accumulation.value())};
  const std::int64_t scores = checked_mul(z.tokens, z.experts);
  OperatorKernels kernels;
  kernels.forward = {product("router", gating), memory("top-k", z, checked_mul(scores, 16))};
  kernels.dgrad = {memory("top-k dgrad", z, checked_mul(scores, 12)),
                   product("router dgrad", dgrad)};
  kernels.wgrad = {product("router wgrad", wgrad)};
  kernels.output_gradient = Bytes{checked_mul(scores, 4)};
  return kernels;
}

// One product per local expert in one launch; tokens are spread evenly over the rank's experts.
OperatorKernels grouped(const std::string& label, const Sizes& z, std::int64_t in,
                        std::int64_t out) {
  if (z.received == 0) {
    return {};
  }
  const std::int64_t groups = std::min(z.local, z.received);
  const std::int64_t rows = (z.received + groups - 1) / groups;
  const KernelShape forward{.kind = KernelKind::grouped_gemm,
                            .precision = z.precision,
                            .m = rows,
                            .n = out,
                            .k = in,
                            .batch = groups};
  KernelShape dgrad = forward;
  std::swap(dgrad.n, dgrad.k);
  KernelShape wgrad = forward;
  wgrad.m = out;
  wgrad.n = in;
  wgrad.k = rows;
  wgrad.bytes =
      Bytes{checked_mul(checked_mul(checked_mul(in, out), groups), z.accumulation.value())};
  OperatorKernels kernels;
  kernels.forward = {product(label, forward)};
  kernels.dgrad = {product(label + " dgrad", dgrad)};
  kernels.wgrad = {product(label + " wgrad", wgrad)};
  kernels.output_gradient = Bytes{checked_mul(checked_mul(z.received, out), z.element)};
  return kernels;
}

OperatorKernels activation_kernels(const Sizes& z) {
  const bool gated = z.gate == 2;
  const std::int64_t elements = checked_mul(z.received, z.ffn);
  Step forward =
      memory("expert activation", z, checked_mul(elements, gated ? 6 : 4) * z.element / 2);
  Step backward =
      memory("expert activation dgrad", z, checked_mul(elements, gated ? 10 : 8) * z.element / 2);
  forward.kernel.elementwise = true;
  backward.kernel.elementwise = true;
  OperatorKernels kernels;
  kernels.forward = {forward};
  kernels.dgrad = {backward};
  return kernels;
}

// Copies in the order of the ranks they came from <-> in the order of local experts.
OperatorKernels sort_kernels(const std::string& label, const RunSpec& run, const Sizes& z,
                             bool to_experts) {
  // DeepEP hands tokens over as they came; the permutation sorts them, once.
  if (run.parallel.ep == 1 || z.local == 1 || run.moe.dispatcher == Dispatcher::deepep) {
    return {};
  }
  const std::int64_t values = checked_mul(2, checked_mul(z.arrived, z.hidden));
  const std::int64_t there = checked_mul(values, z.dispatched);
  const std::int64_t back = checked_mul(values, z.element);
  return traffic(label, z, to_experts ? there : back, to_experts ? back : there);
}

OperatorKernels permute_kernels(const Sizes& z) {
  const std::int64_t once = checked_mul(checked_mul(z.tokens, z.hidden), z.element);
  const std::int64_t copies = checked_mul(z.copies, z.hidden);
  return traffic("permute", z, once + checked_mul(copies, z.dispatched),
                 once + checked_mul(copies, z.element));
}

OperatorKernels unpermute_kernels(const Sizes& z) {
  const std::int64_t once = checked_mul(checked_mul(z.tokens, z.hidden), z.element);
  const std::int64_t copies = checked_mul(z.copies, z.hidden);
  return traffic("unpermute", z, once + checked_mul(copies, z.element),
                 once + checked_mul(copies, z.dispatched));
}

Communication message(const RunSpec& run, const DerivedCommunication& derived, std::int64_t tokens,
                      bool to_experts, std::string trigger) {
  if (derived.primitive == Primitive::none || tokens == 0) {
    return {};
  }
  const Precision dtype =
      to_experts ? run.model.moe->dispatch_dtype : tensor_precision(run.training.precision);
  return {.primitive = derived.primitive,
          .group = derived.group,
          .bytes = Bytes{checked_mul(checked_mul(tokens, run.model.hidden), element_bytes(dtype))},
          .dtype = dtype,
          .trigger = std::move(trigger),
          .spread = derived.primitive == Primitive::all_to_all ? token_spread(run) : std::nullopt};
}

}  // namespace

OperatorKernels moe_kernels(const RunSpec& run, OperatorKind kind, double load) {
  using enum OperatorKind;
  const Sizes z(run, load);
  const std::string label{name(kind)};
  switch (kind) {
    case router:
      return router_kernels(z);
    case permute:
      return permute_kernels(z);
    case expert_sort:
      return sort_kernels(label, run, z, true);
    case expert_up:
      return grouped(label, z, z.hidden, z.gate * z.ffn);
    case expert_activation:
      return z.received == 0 ? OperatorKernels{} : activation_kernels(z);
    case expert_down:
      return grouped(label, z, z.ffn, z.hidden);
    case expert_unsort:
      return sort_kernels(label, run, z, false);
    case unpermute:
      return unpermute_kernels(z);
    default:
      break;
  }
  SHARDSIM_CHECK(false, "an operator of experts without kernels");
}

Transition expert_transition(const RunSpec& run, OperatorKind producer, OperatorKind consumer,
                             double load) {
  using enum OperatorKind;
  const DerivedCommunication forward = forward_between(run.parallel, producer, consumer);
  const DerivedCommunication backward = backward_between(run.parallel, producer, consumer);
  const bool to_experts = consumer == expert_sort || consumer == expert_up;
  const bool edge = producer == permute || consumer == unpermute;
  const std::int64_t tokens =
      edge ? scaled(routed_tokens(run), expert_loads(run).busiest) : expert_tokens(run, load);
  const std::string word =
      edge ? (to_experts ? "dispatch" : "combine") : (to_experts ? "expert up" : "expert down");
  return {message(run, forward, tokens, to_experts, word),
          message(run, backward, tokens, !to_experts, word + " dgrad"),
          {}};
}

std::int32_t moe_launches(const RunSpec& run) {
  const bool sorted =
      run.parallel.ep > 1 && local_experts(run) > 1 && run.moe.dispatcher == Dispatcher::alltoall;
  const std::int32_t sorts = sorted ? 2 : 0;
  const std::int32_t collectives = (run.parallel.ep > 1 ? 2 : 0) + (run.parallel.etp > 1 ? 2 : 0);
  return 8 + sorts + collectives;
}

}  // namespace shardsim
