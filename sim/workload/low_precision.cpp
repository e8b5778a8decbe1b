#include "workload/low_precision.h"

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

constexpr std::int64_t kCastBytes = 4;  // read in bf16, written in both layouts of one byte

bool is_product(const Step& step) {
  return step.communication.primitive == Primitive::none &&
         (step.kernel.kind == KernelKind::gemm || step.kernel.kind == KernelKind::grouped_gemm);
}

// Of the left factor of a product: of its input in forward, of its output's gradient in dgrad.
Step cast_before(const Step& product) {
  KernelShape shape{.kind = KernelKind::memory, .precision = Precision::bf16};
  const KernelShape& of = product.kernel;
  shape.bytes = Bytes{checked_mul(checked_mul(checked_mul(of.m, of.k), of.batch), kCastBytes)};
  return {product.label + " cast", shape, {}};
}

bool norm_casts_input(OperatorKind kind) {
  using enum OperatorKind;
  return kind == qkv || kind == up || kind == mla_up;
}

std::vector<Step> lowered(Precision precision, const std::vector<Step>& steps, bool casts) {
  std::vector<Step> result;
  for (const Step& step : steps) {
    if (is_product(step) && casts) {
      result.push_back(cast_before(step));
    }
    result.push_back(step);
    if (is_product(step)) {
      result.back().kernel.precision = precision;
    }
  }
  return result;
}

}  // namespace

bool uses_low_precision(const RunSpec& run, OperatorKind kind) {
  return is_low(run.training.precision) && is_block_linear(kind);
}

void lower_precision(const RunSpec& run, OperatorKind kind, OperatorKernels& kernels) {
  if (!uses_low_precision(run, kind)) {
    return;
  }
  const Precision precision = run.training.precision;
  kernels.forward = lowered(precision, kernels.forward, !norm_casts_input(kind));
  kernels.dgrad = lowered(precision, kernels.dgrad, true);
  kernels.wgrad = lowered(precision, kernels.wgrad, false);
}

}  // namespace shardsim
