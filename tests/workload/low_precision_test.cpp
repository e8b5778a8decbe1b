#include "workload/low_precision.h"

#include <optional>

#include "sharding/tensors.h"
#include "support/catch.h"
#include "support/moe_jobs.h"
#include "workload/programs.h"
#include "workload/software_memory.h"

using namespace shardsim;
using namespace shardsim::programs;

namespace {

constexpr std::int64_t kTokens = 2048;

RunSpec fp8(Precision precision = Precision::fp8) {
  RunSpec run = jobs::job(jobs::llama3_8b(), {.tp = 2});
  run.training.precision = precision;
  return run;
}

// Precision of the kernels called `label`, which must agree.
Precision precision_of(const Program& program, const std::string& label) {
  std::optional<Precision> found;
  each_op(program, 0, [&](const Pass&, const Op& op) {
    if (op.kind == OpKind::kernel && at(program.labels, op.label) == label) {
      const Precision here = at(program.kernels, op.kernel).precision;
      CHECK(here == found.value_or(here));
      found = here;
    }
  });
  REQUIRE(found.has_value());
  return *found;
}

Bytes cast_bytes(const Program& program, const std::string& label) {
  Bytes bytes{};
  each_op(program, 0, [&](const Pass&, const Op& op) {
    if (op.kind == OpKind::kernel && at(program.labels, op.label) == label) {
      bytes = at(program.kernels, op.kernel).bytes;
    }
  });
  return bytes;
}

Bytes saved_of_layer(const RunSpec& run, LayerKind layer) {
  Bytes sum{};
  for (const SavedTensor& saved : layer_saved(run, layer)) {
    sum += local_bytes(run, saved.tensor);
  }
  return sum;
}

}  // namespace

TEST_CASE("low precision: linear layers of blocks use it, all else stays in bf16") {
  for (const Precision precision : {Precision::fp8, Precision::mxfp8, Precision::nvfp4}) {
    const Program program = build(fp8(precision));
    for (const std::string label : {"qkv", "attention out", "up", "down"}) {
      CHECK(precision_of(program, label) == precision);
      CHECK(precision_of(program, label + " dgrad") == precision);
      CHECK(precision_of(program, label + " wgrad") == precision);
    }
    for (const std::string label :
         {"attention", "attention dgrad", "head", "head wgrad", "norm", "embedding", "down cast"}) {
      CHECK(precision_of(program, label) == Precision::bf16);
    }
    for (const Communication& c : program.communications) {
      CHECK((c.dtype == Precision::bf16 || c.dtype == Precision::fp32));
    }
  }
}

// tp 2: down takes 2048 x 7168 elements and yields 2048 x 4096; 4 B each.
TEST_CASE("low precision: inputs and gradients are cast, norms cast what they write") {
  const Program program = build(fp8());
  CHECK(cast_bytes(program, "down cast") == Bytes{kTokens * 7168 * 4});
  CHECK(cast_bytes(program, "down dgrad cast") == Bytes{kTokens * 4096 * 4});
  CHECK(cast_bytes(program, "attention out cast") == Bytes{kTokens * 2048 * 4});
  CHECK(cast_bytes(program, "qkv cast") == Bytes{});
  CHECK(cast_bytes(program, "qkv dgrad cast") == Bytes{kTokens * (2048 + 2 * 512) * 4});
  const Program bf16 = build(jobs::job(jobs::llama3_8b(), {.tp = 2}));
  CHECK(program_flops(program, 0, Category::compute) == program_flops(bf16, 0, Category::compute));
  CHECK(cast_bytes(bf16, "down dgrad cast") == Bytes{});
}

// Of a layer: inputs of qkv and up (2 x s h) and of down (s ffn / 2) lose a byte an element; the
// input of attention out is kept beside the core's output (s h / 2 of one byte).
TEST_CASE("low precision: what linear layers keep of their inputs takes a byte an element") {
  const Bytes wide = saved_of_layer(jobs::job(jobs::llama3_8b(), {.tp = 2}), LayerKind::dense);
  const std::int64_t less = kTokens * (2 * 4096 + 7168 - 2048);
  CHECK(wide - saved_of_layer(fp8(), LayerKind::dense) == Bytes{less});
}

// 128 tokens, top 2, 8 experts of width 256, hidden 64: 256 copies reach the experts.
TEST_CASE("low precision: experts use it, routed and shared, the router does not") {
  RunSpec run = jobs::moe_job({});
  run.model.moe->shared_ffn = 512;
  run.training.precision = Precision::fp8;
  const Program program = build(run);
  for (const std::string label : {"expert up", "expert down", "shared up", "shared down"}) {
    CHECK(precision_of(program, label) == Precision::fp8);
    CHECK(precision_of(program, label + " dgrad") == Precision::fp8);
    CHECK(precision_of(program, label + " wgrad") == Precision::fp8);
  }
  for (const std::string label : {"router", "router wgrad", "top-k", "permute"}) {
    CHECK(precision_of(program, label) == Precision::bf16);
  }
  CHECK(cast_bytes(program, "expert up cast") == Bytes{256 * 64 * 4});
  CHECK(cast_bytes(program, "expert down cast") == Bytes{256 * 256 * 4});
  CHECK(cast_bytes(program, "expert down dgrad cast") == Bytes{256 * 64 * 4});
  CHECK(cast_bytes(program, "shared up cast") == Bytes{128 * 64 * 4});
  CHECK(cast_bytes(program, "shared down dgrad cast") == Bytes{128 * 64 * 4});
}

// Latents of 32 and 16 + 8: both products down cast the hidden input, the norms that follow cast
// what goes up.
TEST_CASE("low precision: latent attention uses it in all its products") {
  RunSpec run = jobs::job(jobs::llama(2, 64, 256, 4, 4, 1024), {.sequence = 128});
  run.model.mla = MlaSpec{.q_lora_rank = 32,
                          .kv_lora_rank = 16,
                          .qk_nope_head_dim = 16,
                          .qk_rope_head_dim = 8,
                          .v_head_dim = 16};
  run.training.precision = Precision::mxfp8;
  const Program program = build(run);
  for (const std::string label : {"q down", "kv down", "q up", "kv up", "attention out"}) {
    CHECK(precision_of(program, label) == Precision::mxfp8);
    CHECK(precision_of(program, label + " dgrad") == Precision::mxfp8);
  }
  CHECK(cast_bytes(program, "q down cast") == Bytes{128 * 64 * 4});
  CHECK(cast_bytes(program, "kv down cast") == Bytes{128 * 64 * 4});
  CHECK(cast_bytes(program, "kv down dgrad cast") == Bytes{128 * (16 + 8) * 4});
  CHECK(cast_bytes(program, "q up cast") == Bytes{});
  CHECK(cast_bytes(program, "kv up dgrad cast") == Bytes{128 * 4 * (16 + 16) * 4});
}

// A byte an element instead of two: what experts multiply (256 x 64 and 256 x 256), qkv's input;
// the shared up input (128 x 64) is kept beside the router's, attention out's beside the core's.
TEST_CASE("low precision: what experts keep of their inputs takes a byte an element") {
  RunSpec run = jobs::moe_job({});
  run.model.moe->shared_ffn = 512;
  const Bytes wide = saved_of_layer(run, LayerKind::moe);
  run.training.precision = Precision::fp8;
  const std::int64_t less = 256 * (64 + 256) + 128 * 64 + 128 * 512;
  const std::int64_t more = 128 * 64 + 128 * 64;
  CHECK(wide - saved_of_layer(run, LayerKind::moe) == Bytes{less - more});
}

// One placeholder for the 8 experts' up and one for their down, all experts' weights copied.
TEST_CASE("software memory: experts share placeholders, not copies") {
  RunSpec run = jobs::moe_job({});
  run.training.precision = Precision::fp8;
  run.stack.weight_gradient_placeholders = true;
  const auto chunks = make_chunks(run).front();
  constexpr std::int64_t kAttention = 64 * (3 * 64) + 64 * 64;
  constexpr std::int64_t kExpert = 64 * 2 * 256 + 256 * 64;
  CHECK(gradient_placeholders(run, chunks) == Bytes{(kAttention + kExpert + 1024 * 64) * 2});
  CHECK(low_precision_weights(run, chunks) == Bytes{4 * (kAttention + 8 * kExpert) * 2});
  run.parallel.zero = 3;
  CHECK(low_precision_weights(run, chunks) == Bytes{});
}

// llama3-8b, tp 2: qkv 4096 x (4096 + 2048), attention out 4096^2, three of 4096 x 14336, halved.
TEST_CASE("software memory: copies of weights and gradient placeholders") {
  constexpr std::int64_t kLayer = std::int64_t{4096} * (4096 + 2 * 1024 + 4096 + 3 * 14336) / 2;
  constexpr std::int64_t kHead = std::int64_t{128256} * 4096 / 2;
  RunSpec run = fp8();
  const auto chunks = make_chunks(run).front();
  CHECK(low_precision_weights(run, chunks) == Bytes{32 * kLayer * 2});
  CHECK(gradient_placeholders(run, chunks) == Bytes{});
  run.stack.weight_gradient_placeholders = true;
  CHECK(gradient_placeholders(run, chunks) == Bytes{(kLayer + kHead) * 2});
  run.training.precision = Precision::bf16;
  CHECK(low_precision_weights(run, chunks) == Bytes{});
  const Program program = build(run);
  CHECK(program.programs[0].memory.other ==
        run.training.memory_reserve + Bytes{(kLayer + kHead) * 2});
}
