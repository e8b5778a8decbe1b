#include "base/errors.h"
#include "spec/kernel_shape.h"
#include "spec/precision.h"
#include "support/catch.h"

using namespace shardsim;

TEST_CASE("precision: half bytes are nobody's storage") {
  CHECK_THROWS_AS(element_bytes(Precision::nvfp4), InternalError);
  CHECK(element_bytes(Precision::fp32) == 4);
  CHECK(element_bytes(Precision::bf16) == 2);
  CHECK(element_bytes(Precision::mxfp8) == 1);
  CHECK(name(Precision::nvfp4) == "nvfp4");
}

TEST_CASE("kernel shape: FLOPs of matrix products and flash attention") {
  KernelShape gemm;
  gemm.kind = KernelKind::gemm;
  gemm.m = 3;
  gemm.n = 5;
  gemm.k = 7;
  gemm.batch = 2;
  CHECK(flops(gemm).value() == 2.0 * 3 * 5 * 7 * 2);
  KernelShape flash;
  flash.kind = KernelKind::flash_attention;
  flash.sequence_q = flash.sequence_kv = 1024;
  flash.head_dim = 128;
  flash.batch = 4;
  CHECK(flops(flash).value() == 2.0 * 1024 * 1024 * 128 * 4);  // causal: half of 4 s s d
  flash.backward = true;
  CHECK(flops(flash).value() == 5.0 * 1024 * 1024 * 128 * 4);  // x 2.5
  flash.causal = false;
  CHECK(flops(flash).value() == 10.0 * 1024 * 1024 * 128 * 4);
  CHECK(flops(KernelShape{}).value() == 0);
}
