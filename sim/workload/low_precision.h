// Training in fp8, mxfp8 or nvfp4: which matrix products use the format, and the casts around them.
//
// The linear layers of transformer blocks do (qkv, attention out, up, down: forward and both
// gradients); the attention core, embedding, head, norms, messages between ranks and stored
// weights stay in bf16, as Transformer Engine's recipes and Megatron do by default (docs of
// Transformer Engine, "Using FP8"; Megatron-LM --fp8-format without --fp8-param-gather).
//   casts    the norm before qkv and up writes the format itself; inputs of attention out and down
//            and the gradients of all outputs are read in bf16 and written twice, row- and
//            column-wise (4 B an element): assumed
//   weights  cast once a step, both copies kept (2 B a weight beside the bf16 one)
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
