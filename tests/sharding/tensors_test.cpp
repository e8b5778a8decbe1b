#include "sharding/tensors.h"

#include "support/catch.h"
#include "support/jobs.h"

using namespace shardsim;

// Megatron's build_tokenizer pads to a multiple of 128 * tp: 50257 -> 393 * 128, 197 * 256, ...
TEST_CASE("tensors: the vocabulary is padded to 128 times tp") {
  ModelSpec model = jobs::llama2_7b();
  model.vocab = 50257;
  const auto padded = [&](std::int64_t tp) { return padded_vocab(jobs::job(model, {.tp = tp})); };
  CHECK(padded(1) == 50304);
  CHECK(padded(2) == 50432);
  CHECK(padded(4) == 50688);
  CHECK(padded(8) == 51200);
  RunSpec run = jobs::job(model, {.tp = 8});
  run.training.pad_vocab = false;
  CHECK(padded_vocab(run) == 50257);
}

TEST_CASE("tensors: tp cuts heads of qkv, rows of out, ffn of up and down, V of the tables") {
  const RunSpec run = jobs::job(jobs::llama3_70b(), {.tp = 4, .dp = 2});
  const auto dims = [&](OperatorKind kind, std::size_t which) {
    return local_dims(run, operator_weights(run, kind).at(which));
  };
  using V = std::vector<SizedDim>;
  CHECK(dims(OperatorKind::qkv, 0) ==
        V{{Dim::hidden, 8192}, {Dim::head, 16}, {Dim::head_dim, 128}});
  CHECK(dims(OperatorKind::qkv, 1) ==
        V{{Dim::hidden, 8192}, {Dim::kv_head, 2}, {Dim::head_dim, 128}});
  CHECK(dims(OperatorKind::attention_out, 0) ==
        V{{Dim::head, 16}, {Dim::head_dim, 128}, {Dim::hidden, 8192}});
  CHECK(dims(OperatorKind::up, 0) == V{{Dim::hidden, 8192}, {Dim::gate, 2}, {Dim::ffn, 7168}});
  CHECK(dims(OperatorKind::down, 0) == V{{Dim::ffn, 7168}, {Dim::hidden, 8192}});
  CHECK(dims(OperatorKind::norm, 0) == V{{Dim::hidden, 8192}});
  CHECK(dims(OperatorKind::head, 0) == V{{Dim::vocab, 32128}, {Dim::hidden, 8192}});
  CHECK(copies(run, operator_weights(run, OperatorKind::up).front()) == 2);    // dp
  CHECK(copies(run, operator_weights(run, OperatorKind::norm).front()) == 8);  // tp and dp
}

// 8 KV heads on 16 ranks: one each, every head on two ranks.
TEST_CASE("tensors: ranks beyond the KV heads share them") {
  const RunSpec run = jobs::job(jobs::llama3_70b(), {.tp = 16, .dp = 2});
  const Tensor keys = operator_weights(run, OperatorKind::qkv).at(1);
  CHECK(local_elements(run, keys) == 8192 * 128);
  CHECK(copies(run, keys) == 2 * 2);
  CHECK(copies(run, operator_weights(run, OperatorKind::qkv).at(0)) == 2);
  CHECK(kv_sharers(run) == 2);
  CHECK(kv_sharers(jobs::job(jobs::llama3_70b(), {.tp = 8})) == 1);
}

TEST_CASE("tensors: heads are not tied to hidden") {
  ModelSpec model = jobs::llama3_8b();
  model.head_dim = 256;
  const RunSpec run = jobs::job(model, {.tp = 2});
  CHECK(local_elements(run, operator_weights(run, OperatorKind::qkv).at(0)) == 4096 * 16 * 256);
}

namespace {

double layer_bytes(const RunSpec& run, bool core, bool input_only) {
  std::int64_t sum = 0;
  for (const SavedTensor& saved : layer_saved(run)) {
    const bool counted =
        input_only ? saved.as == SavedAs::layer_input : core || saved.as != SavedAs::core;
    sum += counted ? local_bytes(run, saved.tensor).value() : 0;
  }
  return static_cast<double>(sum);
}

}  // namespace

// Korthikanti et al., arXiv 2205.05198, table 2: bytes of activations a transformer layer keeps.
TEST_CASE("tensors: saved activations of a GPT layer equal the published formulas") {
  for (const std::int64_t tp : {std::int64_t{1}, std::int64_t{8}}) {
    for (const std::int64_t dp : {std::int64_t{1}, std::int64_t{2}}) {
      RunSpec run =
          jobs::job(jobs::gpt(4, 6144, 64), {.tp = tp, .dp = dp, .micro = 4, .sequence = 2048});
      run.training.attention = AttentionKind::unfused;
      const double s = 2048, b = 4, h = 6144, a = 64;
      const auto t = static_cast<double>(tp);
      const double scores = 5 * a * s * s * b / t;
      CHECK(layer_bytes(run, true, false) == s * b * h * (10 + 24 / t) + scores);
      CHECK(layer_bytes(run, false, false) == s * b * h * (10 + 24 / t));
      CHECK(layer_bytes(run, false, true) == 2 * s * b * h);
      run.parallel.sp = true;
      CHECK(layer_bytes(run, true, false) == s * b * h * 34 / t + scores);
      CHECK(layer_bytes(run, false, false) == s * b * h * 34 / t);
      CHECK(layer_bytes(run, false, true) == 2 * s * b * h / t);
      // Flash attention keeps one fp32 statistic per row of scores instead of the scores.
      run.training.attention = AttentionKind::flash;
      CHECK(layer_bytes(run, true, false) == s * b * h * 34 / t + 4 * s * b * a / t);
    }
  }
}

// The same paper, section 4.3: 4 s b V / t of fp32 logits; inputs of the last norm and of the head
// 2 s b h each, over t under sequence parallelism.
TEST_CASE("tensors: the head keeps its inputs and fp32 logits") {
  const RunSpec run = jobs::job(jobs::gpt(4, 1024, 16), {.tp = 8, .sp = true});
  std::int64_t sum = 0;
  for (const SavedTensor& saved : head_saved(run)) {
    sum += local_bytes(run, saved.tensor).value();
  }
  CHECK(sum == 2048 * (2 * 1024 + 2 * 1024 + 4 * 51200) / 8);
}
