// How long a kernel of a given shape takes alone on a GPU.
//
// time = max(FLOP / (peak * efficiency(shape)), bytes / (bandwidth * efficiency)); what a GEMM adds
// to a gradient comes on top.
// GEMM model `tiles` (Ampere, Hopper): tile and wave rounding with a K ramp; `k_ramp`: K ramp only.
// Formulas, their sources and their errors against published runs are in the .cpp.
//
// REQUIRES a peak for the shape's precision and an attention efficiency for the stack's
// flash_version (spec/validate_machine.cpp): InternalError, for a fallback would be a wrong answer
// that looks right.
//   GEMM 8192 x 8192 x 8192 bf16 at 0.768 of 989 TFLOP/s, k_half 300: 1.59 ms on h100-sxm
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "spec/kernel_shape.h"
#include "spec/run_spec.h"

namespace shardsim {

[[nodiscard]] Seconds kernel_time(const KernelShape& shape, const GpuSpec& gpu,
                                  const StackSpec& stack);

// Host time to launch one kernel: the stack's when it states one, else the GPU's.
[[nodiscard]] Seconds host_time_per_kernel(const GpuSpec& gpu, const StackSpec& stack);

// What the times of these kernels rest on, one line per kind of kernel among them with the number
// of its shapes, for a result's list of assumptions: today every shape is priced by the small
// fitted model of the GPU's file, none by a measured table.
[[nodiscard]] std::vector<std::string> kernel_time_assumptions(
    const std::vector<KernelShape>& kernels, const GpuSpec& gpu, const StackSpec& stack);

}  // namespace shardsim
