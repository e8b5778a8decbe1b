// How long a kernel of a given shape takes alone on a GPU.
//
// time = max(FLOP / (peak * efficiency(shape)), bytes / (bandwidth * efficiency)).
// GEMM model `tiles` (Ampere, Hopper): tile and wave rounding with a K ramp; `k_ramp`: K ramp only.
// Formulas and their errors against published runs are in the .cpp.
#pragma once

#include "base/units.h"
#include "spec/kernel_shape.h"
#include "spec/run_spec.h"

namespace shardsim {

[[nodiscard]] Seconds kernel_time(const KernelShape& shape, const GpuSpec& gpu,
                                  const StackSpec& stack);

// Host time to launch one kernel: the stack's when it states one, else the GPU's.
[[nodiscard]] Seconds host_time_per_kernel(const GpuSpec& gpu, const StackSpec& stack);

}  // namespace shardsim
