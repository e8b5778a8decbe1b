// The shape of one GPU kernel: all that is needed to look up how long it takes alone.
// The workload writes these, the platform prices them (platform/kernel_time.h).
#pragma once

#include <cstdint>

#include "base/units.h"
#include "spec/precision.h"

namespace shardsim {

enum class KernelKind : std::uint8_t {
  gemm,             // batch x [m,k] x [k,n]
  grouped_gemm,     // the same, one product per expert: m tokens each, k of a weight gradient
  flash_attention,  // fused attention, forward or backward
  memory,           // bound by memory traffic: norms, activations, softmax, optimizer
};

struct KernelShape {
  KernelKind kind = KernelKind::memory;
  Precision precision = Precision::bf16;
  // gemm, grouped_gemm: C[m,n] = A[m,k] B[k,n], `batch` of them in one launch
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  // flash_attention: `batch` = b * local heads
  std::int64_t sequence_q = 0;
  std::int64_t sequence_kv = 0;
  std::int64_t head_dim = 0;   // of queries and keys
  std::int64_t value_dim = 0;  // of values; 0: head_dim
  bool causal = true;
  bool backward = false;
  // memory traffic: all of a memory kernel's, and what a GEMM moves beside its operands
  // (gradient accumulation)
  Bytes bytes{};
  // a memory kernel that the stack's elementwise_factor scales (norm, activation, dropout, loss)
  bool elementwise = false;
  bool operator==(const KernelShape&) const = default;
};

// Floating-point operations of the kernel: 2 m n k batch; flash forward 2 s_q s_kv (d + d_v) batch
// (halved when causal), backward 2 s_q s_kv (3 d + 2 d_v): five products for two, 2.5 times where
// d is d_v (FlashAttention-2, arXiv 2307.08691 section 4.1); memory 0.
[[nodiscard]] Flop flops(const KernelShape& shape);

}  // namespace shardsim
