// The kernels of experts on one rank, and the communication at the edge of their grid.
//
// Traffic of the memory-bound kernels, in tensors of the hidden width a token: permute reads a
// token once and writes top_k copies, its backward the reverse; unpermute sums the copies; sorting
// by local expert (only where several ranks send) reads and writes each copy. The choice of experts
// takes 16 B a score forward and 12 backward (softmax, top-k and the map in fp32: assumed).
// Router products have operands of the training's precision and fp32 results (Megatron,
// RouterGatingLinearFunction).
#pragma once

#include "workload/operator_steps.h"

namespace shardsim {

// Kernels of the operators from router to unpermute at a load of the rank's experts.
[[nodiscard]] OperatorKernels moe_kernels(const RunSpec& run, OperatorKind kind, double load);

// Between two operators of which one stands in the experts' grid: dispatch and combine over ep, the
// gather and scatter over etp. Messages to experts are in dispatch_dtype, those back in the
// training's precision, two bytes at least (so do DeepSeek-V3, arXiv 2412.19437 section 3.3.3, and
// Megatron). An all_to_all ends for all when the busiest rank is done: its buffer is the message.
[[nodiscard]] Transition expert_transition(const RunSpec& run, OperatorKind producer,
                                           OperatorKind consumer, double load);

// Kernel launches of a layer's forward or backward beyond a dense layer's: router 4, permute,
// sorts, unpermute and the collectives one or two each (assumed).
[[nodiscard]] std::int32_t moe_launches(const RunSpec& run);

}  // namespace shardsim
