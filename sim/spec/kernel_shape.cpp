#include "spec/kernel_shape.h"

namespace shardsim {

Flop flops(const KernelShape& shape) {
  const auto batch = static_cast<double>(shape.batch);
  switch (shape.kind) {
    case KernelKind::gemm:
      return Flop{2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                  static_cast<double>(shape.k) * batch};
    case KernelKind::flash_attention: {
      double forward = 4.0 * static_cast<double>(shape.sequence_q) *
                       static_cast<double>(shape.sequence_kv) *
                       static_cast<double>(shape.head_dim) * batch;
      if (shape.causal) {
        forward /= 2;
      }
      return Flop{shape.backward ? 2.5 * forward : forward};
    }
    case KernelKind::memory:
      break;
  }
  return Flop{0};
}

}  // namespace shardsim
