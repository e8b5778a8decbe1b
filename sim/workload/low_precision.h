// Training in fp8, mxfp8 or nvfp4: which matrix products use the format, and the casts around them.
//
// The linear layers of transformer blocks do (is_block_linear: forward and both gradients, experts
// included); the attention core, router, embedding, head, norms, messages between ranks and stored
// weights stay in bf16, as Transformer Engine's recipes and Megatron do by default (docs of
// Transformer Engine, "Using FP8"; Megatron-LM --fp8-format without --fp8-param-gather;
// DeepSeek-V3, arXiv 2412.19437 section 3.3.1).
//   casts    the norm before qkv, up and mla up writes the format itself; inputs of all others and
//            the gradients of all outputs are read in bf16 and written twice, row- and column-wise
//            (4 B an element), once for each product: assumed
//   weights  cast once a step, both copies kept (2 B a weight beside the bf16 one); under ZeRO 3
//            made and dropped with the gathered weight. The time of these casts is not counted
//   nvfp4    counted like a one-byte format in memory (assumed: an upper bound), half a byte an
//            operand in its products
#pragma once

#include "workload/operator_kernels.h"

namespace shardsim {

[[nodiscard]] bool uses_low_precision(const RunSpec& run, OperatorKind kind);

// Gives the products of an operator's kernels the format and adds the casts; nothing where the run
// or the operator does not use one.
void lower_precision(const RunSpec& run, OperatorKind kind, OperatorKernels& kernels);

}  // namespace shardsim
