#include <algorithm>

#include "sharding/parameters.h"
#include "support/catch.h"
#include "workload/memory.h"
#include "workload/programs.h"

using namespace shardsim;
using namespace shardsim::programs;

// llama3-70b, tp 4, pp 8: 10 layers a stage; V padded to 128512. First and last stage 2.402 B
// parameters, 28.83 GB of 6 + 12/2 B each under ZeRO 1 with dp 2, 43.24 GB without; the others
// 2.139 B, 25.67 and 38.50 GB.
TEST_CASE("program: optimizer states by stage") {
  RunSpec run =
      jobs::job(jobs::llama3_70b(), {.tp = 4, .pp = 8, .dp = 2, .zero = 1, .micro_batches = 8});
  const auto states = [](const RankProgram& stage) {
    return static_cast<double>(
               (stage.memory.weights + stage.memory.gradients + stage.memory.optimizer).value()) /
           1e9;
  };
  for (const std::int64_t zero : {std::int64_t{1}, std::int64_t{0}}) {
    run.parallel.zero = zero;
    const Program program = build(run);
    for (std::size_t stage = 0; stage < 8; ++stage) {
      const bool end = stage == 0 || stage == 7;
      const RankProgram& rank = program.programs.at(stage);
      CHECK(static_cast<double>(rank.parameters) / 1e9 ==
            Approx(end ? 2.402 : 2.139).epsilon(3e-4));
      const double expected = zero == 1 ? (end ? 28.83 : 25.67) : (end ? 43.24 : 38.50);
      CHECK(states(rank) == Approx(expected).epsilon(3e-4));
    }
  }
}

// Forward and backward of a GEMM are 2 and 4 FLOP a weight and token; attention forward 4 s^2 d a
// head and batch (two products), backward twice that; head_dim * heads = h.
TEST_CASE("program: FLOPs of the program are the model's") {
  for (const std::int64_t tp : {std::int64_t{1}, std::int64_t{4}}) {
    RunSpec run = jobs::job(jobs::llama(4, 1024, 2816, 16, 8, 128 * 512),
                            {.tp = tp, .sp = tp > 1, .micro_batches = 2, .micro = 3});
    run.training.attention = AttentionKind::unfused;
    const double tokens = 2.0 * 3 * 2048;
    const double full = flops_conventions().at(1).flops_per_token(run.model, 2048) * tokens;
    CHECK(program_flops(build(run), 0, Category::compute) * static_cast<double>(tp) ==
          Approx(full).epsilon(1e-12));
    // Flash attention: half of it (causal); its backward takes 2.5 times the forward, for the
    // scores are computed again (FlashAttention-2): 3.5 / 3 of the conventional count.
    run.training.attention = AttentionKind::flash;
    const double products = 6.0 * static_cast<double>(count_parameters(run.model).matmul) * tokens;
    const double attention = (full - products) / 2 * 3.5 / 3;
    CHECK(program_flops(build(run), 0, Category::compute) * static_cast<double>(tp) ==
          Approx(products + attention).epsilon(1e-12));
    // Full recomputation repeats the forward of layers, not of the head.
    run.training.attention = AttentionKind::unfused;
    run.training.recompute = Recompute::full;
    const double head = 6.0 * 128 * 512 * 1024 * tokens;
    CHECK(program_flops(build(run), 0, Category::recompute) * static_cast<double>(tp) ==
          Approx((full - head) / 3).epsilon(1e-12));
    run.training.recompute = Recompute::selective;
    CHECK(program_flops(build(run), 0, Category::recompute) * static_cast<double>(tp) ==
          Approx((full - products) / 3).epsilon(1e-12));
  }
}

// 50257 words are padded to 50304: head GEMMs of 6 FLOP a weight and token.
TEST_CASE("program: padded vocabulary is computed") {
  RunSpec run = jobs::job(jobs::llama(1, 1024, 2816, 16, 8, 50257), {});
  const double padded = program_flops(build(run), 0, Category::compute);
  run.training.pad_vocab = false;
  const double plain = program_flops(build(run), 0, Category::compute);
  CHECK(padded - plain == Approx(6.0 * (50304 - 50257) * 1024 * 2048));
}

namespace {

double peak_gib(const RunSpec& run, std::size_t stage) {
  const Program program = build(run);
  return static_cast<double>(activation_peak(program, program.programs.at(stage)).peak.value()) /
         (1 << 30);
}

}  // namespace

// Korthikanti et al. (arXiv 2205.05198) for 22B (48 x 6144, micro batch 4, tp 8) and 175B (96 x
// 12288, tp 8, pp 8, 3 chunks: 1 + 7/24 times all layers on the first stage), GiB: none 59.25 and
// 66.84, sp + selective 9.5625 and 12.35. Beside the layers the first stage keeps the embedding's
// dropout mask (s b h bytes a micro batch, over tp under sp), the single stage head and logits too.
TEST_CASE("program: peak activations are those published for 22B and 175B") {
  const double gib = 1 << 30;
  for (const bool sp : {false, true}) {
    const double t = sp ? 8 : 1;
    RunSpec small = jobs::job(jobs::gpt(48, 6144, 64), {.tp = 8, .sp = sp, .micro = 4});
    small.training.attention = AttentionKind::unfused;
    small.training.recompute = sp ? Recompute::selective : Recompute::none;
    const double sbh = 2048.0 * 4 * 6144;
    const double edges = (sbh / t + 4 * sbh / t + 4.0 * 2048 * 4 * 51200 / 8) / gib;
    // The last layer's core is redone once head and MLP (24 s b h / t) have given theirs back.
    const double redone = sbh / t / gib + 5.0 * 4 * 64 * 2048 * 2048 / 8 / gib - 24 * sbh / 8 / gib;
    CHECK(peak_gib(small, 0) ==
          Approx(sp ? 9.5625 + std::max(edges, redone) : 59.25 + edges).epsilon(1e-6));

    RunSpec large = jobs::job(jobs::gpt(96, 12288, 96),
                              {.tp = 8, .sp = sp, .pp = 8, .vpp = 3, .micro_batches = 64});
    large.training.attention = AttentionKind::unfused;
    large.training.recompute = small.training.recompute;
    // 31 activations of 4-layer chunks, up to 16 of them of the first chunk, are alive at the peak:
    // 124 layers of 96 make 1 + 7/24. Before the last of them redoes its core its MLP gives back.
    const double sbh1 = 2048.0 * 12288;
    const double layer = (sp ? 34 : 13 + 10) * sbh1 / (sp ? 8 : 1);
    const double again = sp ? 5.0 * 96 * 2048 * 2048 / 8 - 24 * sbh1 / 8 : 0;
    CHECK(124 * layer / gib == Approx(sp ? 12.35 : 66.84).epsilon(3e-4));
    CHECK(peak_gib(large, 0) == Approx((124 * layer + 16 * sbh1 / t + again) / gib).epsilon(1e-6));
  }
}

// Full recomputation keeps 2 s b h a layer (over tp under sp) and one layer's rest while it is
// redone.
TEST_CASE("program: full recomputation keeps layer inputs") {
  for (const std::int64_t per_checkpoint : {std::int64_t{1}, std::int64_t{2}}) {
    RunSpec run = jobs::job(jobs::gpt(8, 1024, 16), {.tp = 2});
    run.model.dropout = 0;
    run.training.recompute = Recompute::full;
    run.training.recompute_layers = per_checkpoint;
    const double sbh = 2048.0 * 1024;
    // none, without dropout: 34 - 2 masks; flash statistics 4 a s / t.
    const double layer = 8 * sbh + 24 * sbh / 2 + 4.0 * 16 * 2048 / 2;
    const double inputs = 8.0 / static_cast<double>(per_checkpoint) * 2 * sbh;
    const double head = 4 * sbh + 4.0 * 2048 * 51200 / 2;
    const double redone = static_cast<double>(per_checkpoint) * layer - 2 * sbh;
    CHECK(peak_gib(run, 0) * (1 << 30) == Approx(inputs + std::max(head, redone)));
  }
  RunSpec run = jobs::job(jobs::gpt(8, 1024, 16), {});
  run.training.recompute = Recompute::full;
  run.training.recompute_method = RecomputeMethod::block;
  run.training.recompute_layers = 3;
  const Program program = build(run);
  std::int64_t again = 0;
  each_op(program, 0, [&](const Pass&, const Op& op) {
    again += op.category == Category::recompute && at(program.labels, op.label) == "qkv" ? 1 : 0;
  });
  CHECK(again == 3);
}

TEST_CASE("program: wgrads accumulate gradients, bytes a weight of the stack") {
  RunSpec run = jobs::job(jobs::llama3_8b(), {.tp = 2});
  run.stack.grad_accumulation_bytes = Bytes{12};
  const Program program = build(run);
  bool seen = false;
  each_op(program, 0, [&](const Pass&, const Op& op) {
    if (at(program.labels, op.label) == "down wgrad") {
      seen = true;
      const KernelShape& shape = at(program.kernels, op.kernel);
      CHECK(shape.bytes == Bytes{12 * 4096 * 7168});
      CHECK((shape.m == 4096 && shape.n == 7168 && shape.k == 2048));
    }
  });
  CHECK(seen);
}
