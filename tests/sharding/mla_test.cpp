// Multi-head latent attention: weights, what tp and sp cut, FLOPs.
#include "sharding/mla.h"

#include "sharding/derive.h"
#include "sharding/parameters.h"
#include "spec/kernel_shape.h"
#include "spec/reader.h"
#include "support/catch.h"
#include "support/jobs.h"

using namespace shardsim;

namespace {

RunSpec deepseek(std::int64_t tp) {
  RunSpec run = jobs::job(read_model("deepseek-v3"), {.tp = tp, .sp = tp > 1, .sequence = 4096});
  return run;
}

std::int64_t weights_of(const RunSpec& run, const std::vector<OperatorKind>& kinds) {
  std::int64_t sum = 0;
  for (const OperatorKind kind : kinds) {
    for (const Tensor& weight : operator_weights(run, kind)) {
      sum += local_elements(run, weight);
    }
  }
  return sum;
}

}  // namespace

// 7168 x 1536 + 1536 + 1536 x 128 x 192 + 7168 x 576 + 512 + 512 x 128 x 256 + 128 x 128 x 7168.
TEST_CASE("mla: attention of DeepSeek-V3 has 187,107,328 parameters a layer") {
  using enum OperatorKind;
  const std::vector<OperatorKind> all{mla_down, mla_norm, mla_up, attention_out};
  CHECK(weights_of(deepseek(1), all) == 187'107'328);
  // tp cuts the up-projections and the output by heads, the down-projections not at all.
  const std::int64_t whole = 7168 * (1536 + 576) + 1536 + 512;
  CHECK(weights_of(deepseek(8), all) == whole + (187'107'328 - whole) / 8);
  RunSpec run = deepseek(1);
  run.model.kv_heads = 1;  // means nothing here
  CHECK(weights_of(run, all) == 187'107'328);
}

TEST_CASE("mla: under sp the latents are gathered before the up-projections") {
  using enum OperatorKind;
  const ParallelSpec p = deepseek(8).parallel;
  using D = DerivedCommunication;
  const auto tp = axis_set(Axis::tp);
  CHECK(forward_between(p, norm, mla_down) == D{});
  CHECK(forward_between(p, mla_down, mla_norm) == D{});
  CHECK(forward_between(p, mla_norm, mla_up) == D{Primitive::all_gather, tp});
  CHECK(backward_between(p, mla_norm, mla_up) == D{Primitive::reduce_scatter, tp});
  CHECK(forward_between(p, mla_up, rope) == D{});
  CHECK(latent_width(deepseek(8).model) == 1536 + 512 + 64);
}

// 6 (3 active parts) + 6 L heads (192 + 128) / 2 s a token.
TEST_CASE("mla: a head counts with the mean of its key and value widths") {
  const ModelSpec model = read_model("deepseek-v3");
  const double flops = default_flops_convention().flops_per_token(model, 4096);
  CHECK(flops == Approx(6.0 * static_cast<double>(count_parameters(model).matmul) +
                        6.0 * 61 * 128 * 160 * 4096));
}

// Forward s^2 (d + dv), backward five products: 3 of width d, 2 of dv; halved by the causal mask.
TEST_CASE("mla: flash attention with values narrower than keys") {
  KernelShape shape{.kind = KernelKind::flash_attention,
                    .batch = 2,
                    .sequence_q = 100,
                    .sequence_kv = 100,
                    .head_dim = 192,
                    .value_dim = 128};
  CHECK(flops(shape).value() == 2.0 * 100 * 100 * (192 + 128) * 2 / 2);
  shape.backward = true;
  CHECK(flops(shape).value() == 2.0 * 100 * 100 * (3 * 192 + 2 * 128) * 2 / 2);
}
