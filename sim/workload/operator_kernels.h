// The kernels of one operator on one rank: RunSpec -> steps of forward, dgrad and wgrad.
//
// Memory-bound kernels are priced by traffic, in bytes per element of two-byte tensors (scaled for
// other element sizes); counts of tensors read and written, as tried against published runs of
// Megatron on A100 and H100:
//   norm 4, backward 11; dropout-add 7 (6 without dropout), backward 7 (4); gelu 4 per ffn element,
//   backward 8; swiglu 6, backward 10; softmax 4 and dropout 5 per score, backward 6 and 5; loss 30
//   per logit over tp, 24 alone, backward 15 and 12; embedding 10 per element, backward 8 + 6 per
//   weight.
#pragma once

#include <vector>

#include "sharding/operators.h"
#include "workload/program.h"
#include "workload/rank_variant.h"

namespace shardsim {

struct Step {  // a kernel, or a communication when that has a primitive
  std::string label;
  KernelShape kernel;
  Communication communication;
  // Of a communication: beside the kernel that follows; the one after it waits, and so does what
  // follows the next communication. Otherwise the kernel that follows waits.
  bool beside = false;
};
// `per_element` counts the traffic of two-byte tensors; other element sizes scale it.
[[nodiscard]] Step memory_step(std::string label, Precision precision, std::int64_t elements,
                               std::int64_t per_element, bool elementwise);
[[nodiscard]] Step gemm_step(std::string label, Precision precision, std::int64_t m, std::int64_t n,
                             std::int64_t k, std::int64_t batch = 1);

struct OperatorKernels {
  std::vector<Step> forward;
  std::vector<Step> dgrad;
  std::vector<Step> wgrad;
  Bytes output_gradient{};  // what wgrad needs beside the saved input, if it runs later than dgrad
  Bytes forward_buffer{};   // of its communication, held while its steps run
  Bytes backward_buffer{};
};

[[nodiscard]] OperatorKernels operator_kernels(const RunSpec& run, OperatorKind kind,
                                               const RankVariant& variant = {});

// Kernel launches of one layer pass: counts fitted to host-bound single-node runs (vTrain's
// published measurements of Megatron-DeepSpeed); 16 and 30 for a layer's forward and backward, the
// attention core 6 and 12 unfused or 2 and 4 flash (as many again for each further block of a ring:
// assumed), 4 more for the collectives of tp.
[[nodiscard]] std::int32_t forward_launches(const RunSpec& run, LayerKind layer);
[[nodiscard]] std::int32_t backward_launches(const RunSpec& run, LayerKind layer);
[[nodiscard]] std::int32_t core_launches(const RunSpec& run);  // of an attention core's forward

}  // namespace shardsim
