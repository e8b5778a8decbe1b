// Bytes that a rank holds all the step long: weights, gradients, optimizer, reserve.
//
// Mixed precision with Adam: param_dtype weight, grad_dtype gradient, fp32 master copy and two fp32
// moments (Rajbhandari et al., arXiv 1910.02054 section 3.1); bf16 with fp32 gradients is
// 2 + 4 + 12 B a parameter, 2 + 4 + 12 / (dp * cp) under ZeRO 1. fp32 weights need no master copy.
#pragma once

#include <cstdint>

#include "workload/program.h"

namespace shardsim {

// `parameters` are local, vocabulary padding included.
[[nodiscard]] StaticMemory static_memory(const RunSpec& run, std::int64_t parameters);

}  // namespace shardsim
