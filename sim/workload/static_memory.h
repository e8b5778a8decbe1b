// Bytes that a rank holds all the step long: weights, gradients, optimizer, reserve.
//
// Mixed precision with Adam: param_dtype weight, grad_dtype gradient, fp32 master copy and two fp32
// moments (Rajbhandari et al., arXiv 1910.02054 section 3.1); bf16 with fp32 gradients is
// 2 + 4 + 12 B a parameter, 2 + 4 + 12 / (dp * cp) under ZeRO 1, 2 + (4 + 12) / (dp * cp) under
// ZeRO 2, (2 + 4 + 12) / (dp * cp) under ZeRO 3; zero_group for dp * cp where it is smaller. fp32
// weights need no master copy: FSDP holds (4 + 4 + 8) / zero_group. Gradients that are reduced only
// once a step are whole until then. Under ZeRO 3 they are as wide as the weights at least, for
// torch keeps a parameter's gradient in the parameter's type. What is gathered or not yet reduced
// is the program's (sharded_units.h, gradient_sync.h).
#pragma once

#include <cstdint>

#include "workload/gradient_sync.h"
#include "workload/program.h"

namespace shardsim {

// `parameters` are local, vocabulary padding included.
[[nodiscard]] StaticMemory static_memory(const RunSpec& run, LocalParameters parameters);

}  // namespace shardsim
