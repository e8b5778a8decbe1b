// Formulas (a prototype of them, with figures fitted to half of the published runs, predicted the
// held-out half: Korthikanti 2022 1.6 %, Narayanan 2021 4.9 %, NeMo on H100 1.7 % mean error):
//
// GEMM m x n x k, `batch` of them, model `tiles`. A library tile x by y gives a wave per `sms`
// tiles; a wave takes 2 x y (k + k_half) FLOP on one SM, k_half standing for prologue and epilogue:
//   t = min over tiles of ceil(ceil(m/x) ceil(n/y) batch / sms) 2 x y (k + k_half)
//       / (peak / sms * peak_fraction * tile_fraction)
//   tiles 256x128: 1, 128x128: 0.93, 128x64: 0.80, 64x64: 0.60, each in both orders. Assumed:
//   smaller tiles reuse operands less; the four fractions were set once, with the A100 model that
//   explains 183 measured A100 GEMMs (SimuMax a100_pcie.json) within 4.5 % mean.
// Wave quantisation: NVIDIA, "Matrix Multiplication Background User's Guide".
//
// Model `k_ramp`, without tiles (Blackwell: two-CTA and stream-K kernels hide the waves):
//   t = 2 m n (k + k_half) batch / (peak * peak_fraction)
// and (1 + 157 / m) times that for grouped GEMMs of m tokens an expert.
//
// Alignment: 16-bit tensor-core GEMMs want multiples of 64, and lose the tensor core's fast path
// below multiples of 8 (the same guide): x 1.25 for an unbatched GEMM with a dimension that is no
// multiple of 64, x 4 with one that is no multiple of 8. The factors are assumed.
//
// Floor: operands and result through HBM once, at bandwidth * bandwidth_fraction. On top, whichever
// of the two sets the time: `shape.bytes` (the fp32 gradient that a weight-gradient GEMM or the
// kernel after it reads and writes), at the same rate.
//
// Flash attention: FLOP / (peak * fraction * s / (s + sequence_half)); FLOPs halve under the causal
// mask, backward has 2.5 times forward's (arXiv 2307.08691 section 4.1), one fraction for each.
//
// Memory-bound kernels: bytes / (bandwidth * bandwidth_fraction); the stack's elementwise_factor
// lengthens norms, activations, dropout and loss where the software does not fuse them.
#include "platform/kernel_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/errors.h"
#include "base/ids.h"
#include "base/text.h"

namespace shardsim {

namespace {

struct Tile {
  double x;
  double y;
  double fraction;  // of what the largest tile reaches
};
constexpr std::array<Tile, 6> kTiles = {{{256, 128, 1.00},
                                         {128, 256, 1.00},
                                         {128, 128, 0.93},
                                         {128, 64, 0.80},
                                         {64, 128, 0.80},
                                         {64, 64, 0.60}}};

// Tokens of an expert at which its products reach half their rate, without tiles: 108 grouped GEMMs
// on B200 (SimuMax configs/system/b200_bf16_ceperm.json: 0.22 of the peak at 128 rows, 0.33 at 256,
// 0.40 at 512, 0.43 at 1024, dense 0.49). Their weight gradients follow the K ramp. With tiles (12
// grouped GEMMs on A100, a100_pcie.json) experts are as fast as the tile model has them.
constexpr double kGroupedRows = 157;

[[nodiscard]] double peak_of(const GpuSpec& gpu, Precision precision) {
  const auto found = gpu.peak.find(precision);
  SHARDSIM_CHECK(found != gpu.peak.end(),
                 fmt::format("{} has no peak in {}", gpu.name, name(precision)));
  return found->second.value();
}

[[nodiscard]] const AttentionEfficiency& attention_of(const GpuSpec& gpu, const StackSpec& stack) {
  const auto found = gpu.efficiency.attention.find(stack.flash_version);
  SHARDSIM_CHECK(
      found != gpu.efficiency.attention.end(),
      fmt::format("{} has no figures for flash attention {}", gpu.name, stack.flash_version));
  return found->second;
}

[[nodiscard]] double sustained_bandwidth(const GpuSpec& gpu) {
  return gpu.memory_bandwidth.value() * gpu.efficiency.memory.bandwidth_fraction;
}

// Bytes of one operand element. 4-bit formats exist only inside GEMMs: half a byte.
[[nodiscard]] double operand_bytes(Precision precision) {
  return precision == Precision::nvfp4 ? 0.5 : static_cast<double>(element_bytes(precision));
}

// Experts' tokens are padded to whole tiles by the grouped kernels themselves.
[[nodiscard]] double alignment_penalty(const KernelShape& shape) {
  if (shape.kind == KernelKind::grouped_gemm) {
    return 1.0;
  }
  const auto any_not_multiple = [&](std::int64_t of) {
    return shape.m % of != 0 || shape.n % of != 0 || shape.k % of != 0;
  };
  if (any_not_multiple(8)) {
    return 4.0;
  }
  return shape.batch == 1 && any_not_multiple(64) ? 1.25 : 1.0;
}

[[nodiscard]] double tiled_time(const KernelShape& shape, const GpuSpec& gpu, double peak) {
  const GemmEfficiency& gemm = gpu.efficiency.gemm;
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto sms = static_cast<double>(gpu.sms);
  const double depth = static_cast<double>(shape.k) + gemm.k_half;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double tiles =
        std::ceil(m / tile.x) * std::ceil(n / tile.y) * static_cast<double>(shape.batch);
    const double waves = std::ceil(tiles / sms);
    const double rate_per_sm = peak / sms * gemm.peak_fraction * tile.fraction;
    best = std::min(best, waves * 2.0 * tile.x * tile.y * depth / rate_per_sm);
  }
  return best;
}

[[nodiscard]] double ramped_time(const KernelShape& shape, const GpuSpec& gpu, double peak) {
  const GemmEfficiency& gemm = gpu.efficiency.gemm;
  const double depth = static_cast<double>(shape.k) + gemm.k_half;
  const double rows =
      shape.kind == KernelKind::grouped_gemm ? kGroupedRows / static_cast<double>(shape.m) : 0.0;
  return (1.0 + rows) * 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * depth *
         static_cast<double>(shape.batch) / (peak * gemm.peak_fraction);
}

[[nodiscard]] double gemm_time(const KernelShape& shape, const GpuSpec& gpu) {
  SHARDSIM_CHECK(shape.m > 0 && shape.n > 0 && shape.k > 0 && shape.batch > 0,
                 "a GEMM without extent");
  const double peak = peak_of(gpu, shape.precision);
  const double math = gpu.efficiency.gemm.model == GemmEfficiency::Model::tiles
                          ? tiled_time(shape, gpu, peak)
                          : ramped_time(shape, gpu, peak);
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const double in = operand_bytes(shape.precision);
  const double out = std::max(in, 2.0);  // low-precision GEMMs write bf16
  const double traffic = static_cast<double>(shape.batch) * ((m * k + k * n) * in + m * n * out);
  const double bandwidth = sustained_bandwidth(gpu);
  // What a GEMM moves beside its operands is not hidden under its math: the epilogue that adds to a
  // weight's gradient starts when the products are done.
  return std::max(math * alignment_penalty(shape), traffic / bandwidth) +
         static_cast<double>(shape.bytes.value()) / bandwidth;
}

[[nodiscard]] double flash_time(const KernelShape& shape, const GpuSpec& gpu,
                                const StackSpec& stack) {
  SHARDSIM_CHECK(shape.sequence_q > 0 && shape.sequence_kv > 0 && shape.head_dim > 0,
                 "attention without extent");
  const AttentionEfficiency& efficiency = attention_of(gpu, stack);
  // A block of a sequence is as short as its shorter side.
  const auto s = static_cast<double>(std::min(shape.sequence_q, shape.sequence_kv));
  const double ramp = s / (s + efficiency.sequence_half);
  const double fraction =
      shape.backward ? efficiency.backward_fraction : efficiency.forward_fraction;
  return flops(shape).value() / (peak_of(gpu, shape.precision) * fraction * ramp);
}

[[nodiscard]] double memory_time(const KernelShape& shape, const GpuSpec& gpu,
                                 const StackSpec& stack) {
  SHARDSIM_CHECK(shape.bytes.value() >= 0, "negative traffic");
  const double factor = shape.elementwise ? stack.elementwise_factor : 1.0;
  return factor * static_cast<double>(shape.bytes.value()) / sustained_bandwidth(gpu);
}

}  // namespace

Seconds kernel_time(const KernelShape& shape, const GpuSpec& gpu, const StackSpec& stack) {
  switch (shape.kind) {
    case KernelKind::gemm:
    case KernelKind::grouped_gemm:
      return Seconds{gemm_time(shape, gpu)};
    case KernelKind::flash_attention:
      return Seconds{flash_time(shape, gpu, stack)};
    case KernelKind::memory:
      return Seconds{memory_time(shape, gpu, stack)};
  }
  SHARDSIM_CHECK(false, "an unknown kind of kernel");
  return Seconds{};
}

Seconds host_time_per_kernel(const GpuSpec& gpu, const StackSpec& stack) {
  return stack.host_time_per_kernel.value_or(gpu.host_time_per_kernel);
}

namespace {

// "18 GEMM shapes on h100-sxm, none with a measured efficiency: ".
[[nodiscard]] std::string unmeasured(const std::vector<KernelShape>& kernels, KernelKind kind,
                                     const std::string& what, const GpuSpec& gpu) {
  std::vector<KernelShape> shapes;
  for (const KernelShape& shape : kernels) {
    if (shape.kind == kind && std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) {
      shapes.push_back(shape);
    }
  }
  return shapes.empty() ? ""
                        : fmt::format("{} on {}, none with a measured efficiency: ",
                                      counted(count(shapes), what + " shape"), gpu.name);
}

}  // namespace

std::vector<std::string> kernel_time_assumptions(const std::vector<KernelShape>& kernels,
                                                 const GpuSpec& gpu, const StackSpec& stack) {
  const GemmEfficiency& gemm = gpu.efficiency.gemm;
  std::vector<std::string> lines;
  const std::string gemms = unmeasured(kernels, KernelKind::gemm, "GEMM", gpu);
  if (!gemms.empty()) {
    lines.push_back(
        gemms + fmt::format("fitted {} model, {} of peak, half at K {}",
                            gemm.model == GemmEfficiency::Model::tiles ? "tile and wave" : "K-ramp",
                            gemm.peak_fraction, gemm.k_half));
  }
  const std::string flash =
      unmeasured(kernels, KernelKind::flash_attention, "flash attention", gpu);
  if (!flash.empty()) {
    const AttentionEfficiency& attention = attention_of(gpu, stack);
    lines.push_back(flash + fmt::format("version {}, {} of peak forward, {} backward, half at s {}",
                                        stack.flash_version, attention.forward_fraction,
                                        attention.backward_fraction, attention.sequence_half));
  }
  const std::string memory = unmeasured(kernels, KernelKind::memory, "memory-bound", gpu);
  if (!memory.empty()) {
    lines.push_back(memory + fmt::format("{} of the memory bandwidth",
                                         gpu.efficiency.memory.bandwidth_fraction));
  }
  return lines;
}

}  // namespace shardsim
