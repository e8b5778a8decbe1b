// kv_strategy and vocab_cut: parameters, memory, gradients and communication worked out by hand.
#include "sharding/tensors.h"
#include "support/catch.h"
#include "workload/programs.h"

using namespace shardsim;
using namespace shardsim::programs;

namespace {

constexpr std::int64_t kLayers = 3;
constexpr std::int64_t kHidden = 4096;
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kTokens = 2048;
constexpr std::int64_t kTp = 8;

// 32 query heads over tp 8: 4 on a rank.
RunSpec grouped(std::int64_t kv_heads, KvStrategy strategy) {
  RunSpec run = jobs::job(jobs::llama(kLayers, kHidden, 14336, 32, kv_heads, 32768),
                          {.tp = kTp, .sequence = kTokens});
  run.parallel.kv_strategy = strategy;
  return run;
}

std::int64_t kv_weights(const RunSpec& run) {  // of one layer on one rank, keys and values
  return local_elements(run, operator_weights(run, OperatorKind::qkv).at(1)) +
         local_elements(run, operator_weights(run, OperatorKind::qkv).at(2));
}

std::int64_t kv_saved(const RunSpec& run) {  // bytes of one layer on one rank
  std::int64_t sum = 0;
  for (const SavedTensor& saved : layer_saved(run)) {
    const std::string& what = saved.tensor.name;
    sum += what == "keys" || what == "values" ? local_bytes(run, saved.tensor).value() : 0;
  }
  return sum;
}

std::int64_t qkv_width(const Program& program) {  // n of the fused product
  std::int64_t width = 0;
  each_op(program, 0, [&](const Pass&, const Op& op) {
    if (op.kind == OpKind::kernel && at(program.labels, op.label) == "qkv") {
      width = at(program.kernels, op.kernel).n;
    }
  });
  return width;
}

std::int64_t copies_of_keys(const RunSpec& run) {
  return copies(run, operator_weights(run, OperatorKind::qkv).at(1));
}

}  // namespace

// One KV head on a rank: [4096, 1, 128] each, whatever their number; 8 / kv ranks sum its gradient
// in fp32.
TEST_CASE("kv_strategy shared: each rank holds one KV head, sharers sum its gradient") {
  for (const std::int64_t kv : {std::int64_t{4}, std::int64_t{1}}) {
    const RunSpec run = grouped(kv, KvStrategy::shared);
    CHECK(kv_weights(run) == 2 * kHidden * kHeadDim);
    CHECK(copies_of_keys(run) == kTp / kv);
    CHECK(kv_saved(run) == 2 * kTokens * kHeadDim * 2);
    const Program program = build(run);
    CHECK(qkv_width(program) == (4 + 2) * kHeadDim);
    Bytes bytes{};
    CHECK(of_trigger(program, 0, "shared KV heads", &bytes) == 1);
    CHECK(bytes == Bytes{kLayers * 2 * kHidden * kHeadDim * 4});
    CHECK(of_trigger(program, 0, "replicated gradients") == 0);
    CHECK(of_trigger(program, 0, "qkv heads") == 0);
  }
}

// All KV heads on every rank: their products are repeated, their gradients summed over all of tp.
TEST_CASE("kv_strategy replicate: each rank holds all KV heads, tp sums their gradients") {
  for (const std::int64_t kv : {std::int64_t{4}, std::int64_t{1}}) {
    const RunSpec run = grouped(kv, KvStrategy::replicate);
    CHECK(kv_weights(run) == 2 * kHidden * kv * kHeadDim);
    CHECK(copies_of_keys(run) == kTp);
    CHECK(kv_saved(run) == 2 * kTokens * kv * kHeadDim * 2);
    const Program program = build(run);
    CHECK(qkv_width(program) == (4 + 2 * kv) * kHeadDim);
    Bytes bytes{};
    CHECK(of_trigger(program, 0, "replicated gradients", &bytes) == 1);
    CHECK(bytes == Bytes{kLayers * 2 * kHidden * kv * kHeadDim * 4});
    CHECK(of_trigger(program, 0, "shared KV heads") == 0);
    CHECK(of_trigger(program, 0, "qkv heads") == 0);
  }
}

// All weights cut to 1/8; the fused output of (32 + 2 kv) heads is gathered, backward summed back.
TEST_CASE("kv_strategy gather: weights are cut to 1/tp, the products are gathered") {
  for (const std::int64_t kv : {std::int64_t{4}, std::int64_t{1}}) {
    const RunSpec run = grouped(kv, KvStrategy::gather);
    CHECK(kv_weights(run) == 2 * kHidden * kv * kHeadDim / kTp);
    CHECK(copies_of_keys(run) == 1);
    CHECK(kv_saved(run) == 2 * kTokens * kHeadDim * 2);
    const Program program = build(run);
    CHECK(qkv_width(program) == (32 + 2 * kv) * kHeadDim / kTp);
    const Bytes message{kTokens * (32 + 2 * kv) * kHeadDim * 2};
    Bytes bytes{};
    CHECK(of_trigger(program, 0, "qkv heads", &bytes) == kLayers);
    CHECK(bytes == kLayers * message);
    bytes = {};
    CHECK(of_trigger(program, 0, "qkv heads dgrad", &bytes) == kLayers);
    CHECK(bytes == kLayers * message);
    CHECK(of_trigger(program, 0, "replicated gradients") == 0);
    CHECK(of_trigger(program, 0, "shared KV heads") == 0);
  }
}

TEST_CASE("kv_strategy: it means nothing where each rank has a KV head of its own") {
  const Program shared = build(grouped(8, KvStrategy::shared));
  for (const KvStrategy strategy : {KvStrategy::replicate, KvStrategy::gather}) {
    const Program other = build(grouped(8, strategy));
    CHECK(other.communications == shared.communications);
    CHECK(other.programs.at(0).parameters == shared.programs.at(0).parameters);
  }
}

// Parameters of one rank differ by the KV weights alone.
TEST_CASE("kv_strategy: memory of the states follows the weights") {
  const auto parameters = [](KvStrategy strategy) {
    return build(grouped(4, strategy)).programs.at(0).parameters;
  };
  const std::int64_t head = kLayers * 2 * kHidden * kHeadDim;
  CHECK(parameters(KvStrategy::replicate) - parameters(KvStrategy::shared) == 3 * head);
  CHECK(parameters(KvStrategy::shared) - parameters(KvStrategy::gather) == head / 2);
}

namespace {

RunSpec vocabulary(VocabCut cut, bool sp = false) {
  RunSpec run = jobs::job(jobs::llama(kLayers, kHidden, 14336, 32, 8, 32768),
                          {.tp = kTp, .sp = sp, .sequence = kTokens});
  run.parallel.vocab_cut = cut;
  return run;
}

std::int64_t local_weights(const RunSpec& run, OperatorKind kind) {
  return local_elements(run, operator_weights(run, kind).front());
}

constexpr std::int64_t kTable = std::int64_t{32768} * kHidden;  // 32768 is a multiple of 128 x 8

}  // namespace

// Embedding: its slices of hidden are gathered. Head: sums of products over slices of hidden, each
// rank left with its words; backward the gradient of all words is gathered, then that of hidden.
TEST_CASE("vocab_cut hidden: tables are cut along hidden, partial logits are summed") {
  const RunSpec run = vocabulary(VocabCut::hidden);
  CHECK(local_weights(run, OperatorKind::embedding) == kTable / kTp);
  CHECK(local_weights(run, OperatorKind::head) == kTable / kTp);
  const Program program = build(run);
  const Bytes hidden{kTokens * kHidden * 2};
  const Bytes logits{kTokens * 32768 * 2};
  // the first norm's input and the gradient of the last one's output; layers add none
  Bytes bytes{};
  CHECK(of_trigger(program, 0, "norm", &bytes) == 1);
  CHECK(bytes == hidden);
  bytes = {};
  CHECK(of_trigger(program, 0, "norm dgrad", &bytes) == 1);
  CHECK(bytes == hidden);
  bytes = {};
  CHECK(of_trigger(program, 0, "head", &bytes) == 1);
  CHECK(bytes == logits);
  bytes = {};
  CHECK(of_trigger(program, 0, "head dgrad", &bytes) == 1);
  CHECK(bytes == logits);
  CHECK(of_trigger(program, 0, "loss maximum") == 1);
}

// With sp the layers hold slices of the tokens, the tables slices of the features: one is traded for
// the other at each table forward and backward, and once more for the head's weight gradient, whose
// input is kept as a slice of the tokens.
TEST_CASE("vocab_cut hidden with sp: slices of tokens are traded for slices of features") {
  const RunSpec run = vocabulary(VocabCut::hidden, true);
  CHECK(local_weights(run, OperatorKind::embedding) == kTable / kTp);
  const Program program = build(run);
  const Count traded = communications(program, 0).at({Category::sp, Primitive::all_to_all});
  CHECK(traded.times == 5);
  CHECK(traded.bytes == 5 * kTokens * kHidden * 2);
  CHECK(of_trigger(program, 0, "norm") == 1);
  CHECK(of_trigger(program, 0, "embedding dgrad") == 1);
  CHECK(of_trigger(program, 0, "norm dgrad") == 1);
}

// Whole tables on every rank: 8 x the work of the head, and nothing to communicate without sp.
TEST_CASE("vocab_cut none: tables are whole, nothing moves without sp") {
  const RunSpec run = vocabulary(VocabCut::none);
  CHECK(local_weights(run, OperatorKind::embedding) == kTable);
  CHECK(local_weights(run, OperatorKind::head) == kTable);
  const Program program = build(run);
  std::int64_t outside_layers = 0;
  each_op(program, 0, [&](const Pass&, const Op& op) {
    outside_layers += op.kind == OpKind::communication && op.layer < 0 ? 1 : 0;
  });
  CHECK(outside_layers == 1);  // the gradient norm
  const std::int64_t more = build(run).programs.at(0).parameters -
                            build(vocabulary(VocabCut::vocab)).programs.at(0).parameters;
  CHECK(more == 2 * kTable * (kTp - 1) / kTp);
}

// With sp the last norm yields slices of the tokens, of which the head needs all; backward each
// rank takes its slice, and the embedding needs the whole gradient.
TEST_CASE("vocab_cut none with sp: the head gathers its input, the embedding its gradient") {
  const Program program = build(vocabulary(VocabCut::none, true));
  Bytes bytes{};
  CHECK(of_trigger(program, 0, "head", &bytes) == 1);
  CHECK(bytes == Bytes{kTokens * kHidden * 2});
  bytes = {};
  CHECK(of_trigger(program, 0, "embedding dgrad", &bytes) == 1);
  CHECK(bytes == Bytes{kTokens * kHidden * 2});
}

TEST_CASE("vocab_cut: logits are cut under vocab and hidden, whole under none") {
  const auto logits = [](VocabCut cut) {
    const RunSpec run = vocabulary(cut);
    return local_bytes(run, head_saved(run).back().tensor);
  };
  CHECK(logits(VocabCut::vocab) == Bytes{4 * kTokens * 32768 / kTp});
  CHECK(logits(VocabCut::hidden) == Bytes{4 * kTokens * 32768 / kTp});
  CHECK(logits(VocabCut::none) == Bytes{4 * kTokens * 32768});
}
