#include "workload/low_precision.h"

#include "base/errors.h"

namespace shardsim {
namespace {

constexpr std::int64_t kCastBytes = 4;  // read in bf16, written in both layouts of one byte

Step cast(const std::string& label, std::int64_t elements) {
  KernelShape shape{.kind = KernelKind::memory, .precision = Precision::bf16};
  shape.bytes = Bytes{checked_mul(elements, kCastBytes)};
  return {label + " cast", shape, {}};
}

bool norm_casts_input(OperatorKind kind) {
  return kind == OperatorKind::qkv || kind == OperatorKind::up;
}

void set_precision(Precision precision, std::vector<Step>& steps) {
  for (Step& step : steps) {
    if (step.communication.primitive == Primitive::none && step.kernel.kind == KernelKind::gemm) {
      step.kernel.precision = precision;
    }
  }
}

// Where the first product stands among the steps (communication may come before it).
std::vector<Step>::iterator first_product(std::vector<Step>& steps) {
  auto step = steps.begin();
  while (step != steps.end() && step->communication.primitive != Primitive::none) {
    ++step;
  }
  return step;
}

}  // namespace

bool uses_low_precision(const RunSpec& run, OperatorKind kind) {
  using enum OperatorKind;
  return is_low(run.training.precision) &&
         (kind == qkv || kind == attention_out || kind == up || kind == down);
}

void lower_precision(const RunSpec& run, OperatorKind kind, OperatorKernels& kernels) {
  if (!uses_low_precision(run, kind)) {
    return;
  }
  const auto product = first_product(kernels.forward);
  SHARDSIM_CHECK(product != kernels.forward.end(), "a linear layer without a product");
  const KernelShape shape = product->kernel;  // m tokens, k in, n out
  const std::string label = product->label;
  for (std::vector<Step>* steps : {&kernels.forward, &kernels.dgrad, &kernels.wgrad}) {
    set_precision(run.training.precision, *steps);
  }
  if (!norm_casts_input(kind)) {
    kernels.forward.insert(first_product(kernels.forward),
                           cast(label, checked_mul(shape.m, shape.k)));
  }
  kernels.dgrad.insert(first_product(kernels.dgrad),
                       cast(label + " dgrad", checked_mul(shape.m, shape.n)));
}

}  // namespace shardsim
