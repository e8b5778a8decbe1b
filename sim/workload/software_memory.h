// What the training software holds beside weights, gradients, optimizer and activations.
//
// Gradient placeholders (stack.weight_gradient_placeholders): where the weight-gradient product
// accumulates into the fp32 gradient itself, autograd still gets a tensor of the weight's shape and
// dtype that nobody reads; Transformer Engine keeps one for each distinct shape (get_dummy_wgrad of
// pytorch/module/base.py), Megatron makes one for the output layer (megatron/core/tensor_parallel/
// layers.py, LinearWithGradAccumulationAndAsyncCommunication.backward). Published peaks of Megatron
// on B200 (SimuMax) exceed states and activations by just these.
// Low-precision copies of weights: see low_precision.h.
#pragma once

#include "workload/chunk_pass.h"

namespace shardsim {

[[nodiscard]] Bytes gradient_placeholders(const RunSpec& run, const std::vector<Chunk>& chunks);
[[nodiscard]] Bytes low_precision_weights(const RunSpec& run, const std::vector<Chunk>& chunks);

}  // namespace shardsim
