// Kernel times against calculations by hand, and laws that any of them must obey.
#include "platform/kernel_time.h"

#include <string>

#include "base/errors.h"
#include "support/catch.h"
#include "support/clusters.h"

namespace shardsim {

namespace {

using test::a100_like;
using test::h100_like;
using test::round_gpu;

StackSpec stack_of(std::string flash_version = "2", double elementwise_factor = 1.0) {
  StackSpec stack;
  stack.name = "test";
  stack.flash_version = std::move(flash_version);
  stack.elementwise_factor = elementwise_factor;
  return stack;
}

KernelShape gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  KernelShape shape;
  shape.kind = KernelKind::gemm;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.batch = batch;
  return shape;
}

KernelShape flash(std::int64_t s, std::int64_t d, std::int64_t batch, bool causal, bool backward) {
  KernelShape shape;
  shape.kind = KernelKind::flash_attention;
  shape.sequence_q = s;
  shape.sequence_kv = s;
  shape.head_dim = d;
  shape.batch = batch;
  shape.causal = causal;
  shape.backward = backward;
  return shape;
}

KernelShape memory(std::int64_t bytes, bool elementwise) {
  KernelShape shape;
  shape.kind = KernelKind::memory;
  shape.bytes = Bytes{bytes};
  shape.elementwise = elementwise;
  return shape;
}

double us(const KernelShape& shape, const GpuSpec& gpu, const StackSpec& stack = stack_of()) {
  return kernel_time(shape, gpu, stack).value() * 1e6;
}

GpuSpec tiles_gpu() {  // 100 SMs of 1 TFLOP/s each
  GpuSpec gpu = round_gpu();
  gpu.efficiency.gemm.model = GemmEfficiency::Model::tiles;
  return gpu;
}

}  // namespace

// ---- bad input ---------------------------------------------------------------------------------

TEST_CASE("kernel_time: a precision without a peak is an error, not a fallback") {
  KernelShape shape = gemm(1024, 1024, 1024);
  shape.precision = Precision::fp32;
  CHECK_THROWS_WITH(us(shape, round_gpu()), Catch::Contains("round has no peak in fp32"));
}

TEST_CASE("kernel_time: a flash version without efficiency is an error") {
  CHECK_THROWS_AS(us(flash(1024, 128, 1, true, false), round_gpu(), stack_of("9")), InternalError);
}

TEST_CASE("kernel_time: a GEMM without extent is our fault") {
  CHECK_THROWS_AS(us(gemm(0, 1, 1), round_gpu()), InternalError);
}

// ---- GEMM --------------------------------------------------------------------------------------

TEST_CASE("gemm: the K ramp at half depth takes twice the ideal time") {
  // 2 * 1024^3 FLOP at 100 TFLOP/s = 21.47 us; k_half = k doubles it; fraction 0.5 again
  GpuSpec gpu = round_gpu();
  CHECK(us(gemm(1024, 1024, 1024), gpu) == Approx(2.0 * 1024 * 1024 * 1024 / 1e14 * 1e6));
  gpu.efficiency.gemm.k_half = 1024;
  gpu.efficiency.gemm.peak_fraction = 0.5;
  CHECK(us(gemm(1024, 1024, 1024), gpu) == Approx(4 * 2.0 * 1024 * 1024 * 1024 / 1e14 * 1e6));
}

TEST_CASE("gemm: one more row than full tiles costs a wave") {
  // 2560 x 1280 in tiles of 256 x 128: 10 x 10 = 100 tiles, one wave on 100 SMs:
  // 2 * 256 * 128 * 4096 / 1 TFLOP/s = 268.4 us
  const double wave = 2.0 * 256 * 128 * 4096 / 1e12 * 1e6;
  CHECK(us(gemm(2560, 1280, 4096), tiles_gpu()) == Approx(wave));
  // 2560 x 1344 = 10 x 11 tiles, 2 waves = 536.9 us; 128 x 256: 20 x 6 = 120, 2 waves;
  // 128 x 128: 20 x 11 = 220, 3 waves of half the work / 0.93 = 432.9 us; 128 x 64: 20 x 21 = 420,
  // 5 waves / 4 / 0.8 = 419.4 us, the least; 64 x 128: 40 x 11 = 440, 5 waves, the same;
  // 64 x 64: 40 x 21 = 840, 9 waves / 8 / 0.6 = 503.3 us
  CHECK(us(gemm(2560, 1344, 4096), tiles_gpu()) == Approx(wave * 5 / 4 / 0.8));
}

TEST_CASE("gemm: batched products share the waves") {
  // 4 products of 1280 x 640 in 256 x 128: 5 x 5 tiles each, 100 together
  const double wave = 2.0 * 256 * 128 * 4096 / 1e12 * 1e6;
  CHECK(us(gemm(1280, 640, 4096, 4), tiles_gpu()) == Approx(wave));
}

TEST_CASE("gemm: a measured H100 shape by hand") {
  // 8192^3 on 132 SMs, 0.768 of 989, k_half 300: 32 x 64 = 2048 tiles, 16 waves of
  // 2 * 256 * 128 * 8492 FLOP at 989 / 132 * 0.768 TFLOP/s = 1.547 ms, 711 TFLOP/s. (cuBLAS as
  // published: 741.)
  const double expected = 16 * 2.0 * 256 * 128 * 8492 / (989e12 / 132 * 0.768) * 1e6;
  CHECK(us(gemm(8192, 8192, 8192), h100_like()) == Approx(expected));
  CHECK(expected == Approx(1547).epsilon(0.001));
}

TEST_CASE("gemm: misaligned dimensions cost 1.25 and 4 times") {
  const GpuSpec gpu = round_gpu();  // k_ramp: exactly proportional to m
  const double aligned = us(gemm(4096, 4096, 4096), gpu) / 4096;
  CHECK(us(gemm(4096 + 8, 4096, 4096), gpu) == Approx(aligned * (4096 + 8) * 1.25));
  CHECK(us(gemm(4096 + 1, 4096, 4096), gpu) == Approx(aligned * (4096 + 1) * 4));
  // batched GEMMs bear multiples of 8, not less
  CHECK(us(gemm(4096 + 8, 4096, 4096, 2), gpu) == Approx(2 * aligned * (4096 + 8)));
  CHECK(us(gemm(4096 + 4, 4096, 4096, 2), gpu) == Approx(2 * aligned * (4096 + 4) * 4));
}

TEST_CASE("gemm: a thin product is bound by memory, gradient accumulation included") {
  // 64 x 64 by K = 64 x 2^20: operands 2 * (2 * 64 * 2^26) B = 17.2 GB at 1 TB/s
  const std::int64_t k = std::int64_t{1} << 26;
  KernelShape shape = gemm(64, 64, k);
  const double operands = 2.0 * 2 * 64 * static_cast<double>(k) + 2.0 * 64 * 64;
  CHECK(us(shape, round_gpu()) == Approx(operands / 1e12 * 1e6));
  shape.bytes = Bytes{1'000'000'000'000};  // one second more
  CHECK(us(shape, round_gpu()) == Approx(operands / 1e12 * 1e6 + 1e6));
}

TEST_CASE("gemm: gradient accumulation costs its traffic where math sets the time, too") {
  KernelShape shape = gemm(8192, 8192, 8192);
  const double without = us(shape, round_gpu());
  shape.bytes = Bytes{6 * 8192 * 8192};  // 403 MB at 1 TB/s: 403 us
  CHECK(us(shape, round_gpu()) == Approx(without + 6.0 * 8192 * 8192 / 1e12 * 1e6));
}

TEST_CASE("gemm: fp8 operands are one byte, the result two") {
  KernelShape shape = gemm(64, 64, std::int64_t{1} << 26);
  shape.precision = Precision::fp8;
  const double traffic = 2.0 * 64 * static_cast<double>(shape.k) + 2.0 * 64 * 64;
  CHECK(us(shape, round_gpu()) == Approx(traffic / 1e12 * 1e6));
}

TEST_CASE("gemm: time never falls when a dimension grows by whole tiles") {
  for (const GpuSpec& gpu : {a100_like(), h100_like(), round_gpu()}) {
    for (std::int64_t n : {64, 640, 4096, 12288}) {
      double last = 0;
      for (std::int64_t m = 64; m <= 8192; m += 64) {
        const double time = us(gemm(m, n, 4096), gpu);
        REQUIRE(time >= last);
        CHECK(us(gemm(m, n, 4160), gpu) > time);
        CHECK(us(gemm(n, m, 4096), gpu) == Approx(time));  // transposition changes nothing
        last = time;
      }
    }
  }
}

// ---- attention and memory ----------------------------------------------------------------------

TEST_CASE("flash: causal halves, backward is 2.5 times, the ramp is a half at its s") {
  GpuSpec gpu = round_gpu();
  // 4 s^2 d batch = 4 * 4096^2 * 128 * 32 FLOP at 100 TFLOP/s
  const double full = 4.0 * 4096 * 4096 * 128 * 32 / 1e14 * 1e6;
  CHECK(us(flash(4096, 128, 32, false, false), gpu) == Approx(full));
  CHECK(us(flash(4096, 128, 32, true, false), gpu) == Approx(full / 2));
  CHECK(us(flash(4096, 128, 32, true, true), gpu) == Approx(full / 2 * 2.5));
  gpu.efficiency.attention["2"] = {0.5, 0.4, 4096, "test"};
  CHECK(us(flash(4096, 128, 32, true, false), gpu) == Approx(full / 2 / 0.5 / 0.5));
  CHECK(us(flash(4096, 128, 32, true, true), gpu) == Approx(full / 2 * 2.5 / 0.4 / 0.5));
}

TEST_CASE("flash: the stack chooses the version") {
  const KernelShape shape = flash(8192, 128, 8, true, false);
  CHECK(us(shape, h100_like(), stack_of("3")) < us(shape, h100_like(), stack_of("2")));
}

TEST_CASE("memory: bytes over the sustained bandwidth, longer where software does not fuse") {
  GpuSpec gpu = round_gpu();
  gpu.efficiency.memory.bandwidth_fraction = 0.8;
  // 1 MB at 0.8 TB/s = 1.25 us
  CHECK(us(memory(1'000'000, true), gpu) == Approx(1.25));
  CHECK(us(memory(1'000'000, true), gpu, stack_of("2", 1.9)) == Approx(1.25 * 1.9));
  CHECK(us(memory(1'000'000, false), gpu, stack_of("2", 1.9)) == Approx(1.25));
  CHECK(us(memory(0, true), gpu) == 0.0);
}

TEST_CASE("kernel_time: twice the peak and the bandwidth is half the time, exactly") {
  GpuSpec twice = h100_like();
  twice.memory_bandwidth = twice.memory_bandwidth * 2.0;
  for (auto& [precision, peak] : twice.peak) {
    peak = peak * 2.0;
  }
  KernelShape wgrad = gemm(128, 4096, 8192);
  wgrad.bytes = Bytes{6 * 128 * 4096};
  for (const KernelShape& shape :
       {gemm(8192, 7168, 8192), gemm(64, 64, 64), gemm(63, 65, 127), wgrad,
        gemm(2048, 2048, 128, 96), flash(8192, 128, 8, true, true), memory(123'456'789, true)}) {
    CHECK(us(shape, twice) * 2 == us(shape, h100_like()));
  }
}

TEST_CASE("host_time_per_kernel: the stack's figure replaces the GPU's") {
  StackSpec stack = stack_of();
  CHECK(host_time_per_kernel(h100_like(), stack).value() == 7e-6);
  stack.host_time_per_kernel = Seconds{36e-6};
  CHECK(host_time_per_kernel(h100_like(), stack).value() == 36e-6);
}

TEST_CASE("kernel_time_assumptions: says that no shape was measured") {
  // Two different products, one of them twice; one memory-bound kernel; no flash attention.
  const std::vector<KernelShape> kernels{{.kind = KernelKind::gemm, .m = 8, .n = 8, .k = 8},
                                         {.kind = KernelKind::gemm, .m = 16, .n = 8, .k = 8},
                                         {.kind = KernelKind::gemm, .m = 8, .n = 8, .k = 8},
                                         {.kind = KernelKind::memory, .bytes = Bytes{8}}};
  const std::vector<std::string> lines =
      kernel_time_assumptions(kernels, h100_like(), stack_of("3"));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] ==
        "2 GEMM shapes on h100-like, none with a measured efficiency: fitted tile and wave model, "
        "0.768 of peak, half at K 300");
  CHECK(lines[1].rfind("1 memory-bound shape on h100-like, none with a measured", 0) == 0);
}

}  // namespace shardsim
