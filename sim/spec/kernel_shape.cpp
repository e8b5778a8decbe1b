#include "spec/kernel_shape.h"

namespace shardsim {

Flop flops(const KernelShape& shape) {
  const auto batch = static_cast<double>(shape.batch);
  switch (shape.kind) {
    case KernelKind::gemm:
    case KernelKind::grouped_gemm:
      return Flop{2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                  static_cast<double>(shape.k) * batch};
    case KernelKind::flash_attention: {
      const auto d = static_cast<double>(shape.head_dim);
      const double v = shape.value_dim > 0 ? static_cast<double>(shape.value_dim) : d;
      const double products = shape.backward ? 3 * d + 2 * v : d + v;
      const double all = 2.0 * static_cast<double>(shape.sequence_q) *
                         static_cast<double>(shape.sequence_kv) * products * batch;
      return Flop{shape.causal ? all / 2 : all};
    }
    case KernelKind::memory:
      break;
  }
  return Flop{0};
}

}  // namespace shardsim
