// ZeRO 2 and 3, FSDP and HSDP: what is held, what is moved, and when.
#include "support/catch.h"
#include "workload/memory.h"
#include "workload/programs.h"
#include "workload/static_memory.h"

using namespace shardsim;
using namespace shardsim::programs;

namespace {

RunSpec with_zero(std::int64_t zero, std::int64_t dp) {
  RunSpec run = jobs::job(jobs::llama3_8b(), {.dp = dp, .zero = zero});
  run.training.grad_dtype = Precision::bf16;
  run.training.memory_reserve = Bytes{0};
  return run;
}

double state_gb(const RunSpec& run, std::int64_t parameters) {
  const StaticMemory held = static_memory(run, {.dense = parameters, .expert = 0});
  return static_cast<double>((held.weights + held.gradients + held.optimizer).value()) / 1e9;
}

// What a rank sends over dp in a step if each collective is a ring: (n - 1) / n of the buffer,
// twice for an all_reduce.
double sent_gb(const RunSpec& run) {
  double sent = 0;
  for (const auto& [key, count] : communications(build(run), 0, "gradient norm")) {
    if (key.first == Category::dp) {
      const auto n = static_cast<double>(run.parallel.dp);
      sent += (key.second == Primitive::all_reduce ? 2 : 1) * (n - 1) / n *
              static_cast<double>(count.bytes) / 1e9;
    }
  }
  return sent;
}

RunSpec small(std::int64_t zero, std::int64_t dp, std::int64_t micro_batches) {
  RunSpec run = jobs::job(jobs::llama(4, 1024, 3072, 8, 8, 32000),
                          {.dp = dp, .zero = zero, .micro_batches = micro_batches});
  run.training.grad_dtype = Precision::bf16;
  return run;
}

// Weights of the units of small(): vocabulary 32000 x 1024; 4 x 1024 x 1024 of attention, 3 x 1024
// x 3072 of the MLP and two norms; final norm and head.
constexpr std::int64_t kEmbedding = 32000 * 1024;
constexpr std::int64_t kLayer = 4 * 1024 * 1024 + 3 * 1024 * 3072 + 2 * 1024;
constexpr std::int64_t kHead = 1024 + 32000 * 1024;

std::vector<std::string> dp_operations(const Program& program, std::size_t pass) {
  std::vector<std::string> result;
  const Pass& where = program.programs.front().passes.at(pass);
  for (const Op& op : at(program.templates, where.pass_template).ops) {
    if (op.stream == Stream::dp) {
      const Communication& c = at(program.communications, op.communication);
      result.push_back(std::string(name(c.primitive)) + " " + std::to_string(c.bytes.value() / 2));
    }
  }
  return result;
}

std::string gather(std::int64_t parameters) { return "all_gather " + std::to_string(parameters); }
std::string scatter(std::int64_t parameters) {
  return "reduce_scatter " + std::to_string(parameters);
}

}  // namespace

// Rajbhandari et al., arXiv 1910.02054 figure 1: 7.5 B parameters, 64 ranks, 2 + 2 + 12 B each:
// 16 x 7.5; 4 x 7.5 + 12 x 7.5 / 64; 2 x 7.5 + 14 x 7.5 / 64; 16 x 7.5 / 64.
TEST_CASE("sharded state: the ZeRO paper's 120, 31.4, 16.6 and 1.9 GB") {
  const std::int64_t parameters = 7'500'000'000;
  CHECK(state_gb(with_zero(0, 64), parameters) == Approx(120.0));
  CHECK(state_gb(with_zero(1, 64), parameters) == Approx(31.40625));
  CHECK(state_gb(with_zero(2, 64), parameters) == Approx(16.640625));
  CHECK(state_gb(with_zero(3, 64), parameters) == Approx(1.875));
  RunSpec late = with_zero(2, 64);  // gradients that wait for the step's end are whole until then
  late.training.grad_sync = GradSync::step;
  CHECK(state_gb(late, parameters) == Approx(31.40625));
}

// torchtitan's tables: fp32 weights, gradients and moments, 16 B a parameter over all ranks. From 8
// to 128 ranks: 16 x 8.03 G x (1/8 - 1/128) = 15.06 GB = 14.0 GiB less.
TEST_CASE("sharded state: FSDP with fp32 weights holds 16 B a parameter over the group") {
  const auto states = [](std::int64_t dp) {
    RunSpec run = with_zero(3, dp);
    run.training.param_dtype = Precision::fp32;
    return state_gb(run, build(run).programs.front().parameters);
  };
  CHECK(states(8) == Approx(16 * 8.030261248 / 8));
  CHECK((states(8) - states(128)) * 1e9 / (1 << 30) == Approx(14.02).margin(0.01));
}

// 8.03 B parameters of 2 B, 7/8 of them: 14.05 GB a collective.
TEST_CASE("sharded state: bytes sent by each scheme") {
  CHECK(sent_gb(with_zero(0, 8)) == Approx(28.1).margin(0.05));
  CHECK(sent_gb(with_zero(1, 8)) == Approx(28.1).margin(0.05));
  RunSpec wide = with_zero(1, 8);
  wide.training.grad_dtype = Precision::fp32;
  CHECK(sent_gb(wide) == Approx(42.2).margin(0.05));
  for (const std::int64_t micro_batches : {1, 3}) {
    const auto m = static_cast<double>(micro_batches);
    RunSpec run = jobs::job(jobs::llama3_8b(), {.dp = 8, .micro_batches = micro_batches});
    run.training.grad_dtype = Precision::bf16;
    run.parallel.zero = 2;  // one gather a step, a reduction for each micro batch
    CHECK(sent_gb(run) == Approx(14.05 * (1 + m)).margin(0.1));
    run.parallel.zero = 3;
    CHECK(sent_gb(run) == Approx(42.16 * m).margin(0.1));
    run.training.reshard_after_forward = false;
    CHECK(sent_gb(run) == Approx(28.1 * m).margin(0.1));
    run.training.grad_sync = GradSync::step;  // weights stay whole too until the last backward
    CHECK(sent_gb(run) == Approx(28.1).margin(0.1));
    run.training.reshard_after_forward = true;
    CHECK(sent_gb(run) == Approx(14.05 * (2 * m + 1)).margin(0.1));
  }
}

TEST_CASE("sharded state: fp32 weights of a bf16 run are gathered in bf16") {
  RunSpec run = small(3, 4, 1);
  const Program same = build(run);
  run.training.param_dtype = Precision::fp32;
  CHECK(dp_operations(build(run), 0) == dp_operations(same, 0));
}

TEST_CASE("sharded state: units are gathered one ahead, gradients reduced behind") {
  const Program program = build(small(3, 4, 1));
  CHECK(dp_operations(program, 0) == std::vector{gather(kEmbedding), gather(kLayer), gather(kLayer),
                                                 gather(kLayer), gather(kLayer), gather(kHead)});
  CHECK(dp_operations(program, 1) ==
        std::vector{gather(kHead), gather(kLayer), scatter(kHead), gather(kLayer), scatter(kLayer),
                    gather(kLayer), scatter(kLayer), gather(kLayer), scatter(kLayer),
                    gather(kEmbedding), scatter(kLayer), scatter(kEmbedding)});
}

TEST_CASE("sharded state: a gather starts when the compute before the unit before it has ended") {
  const Program program = build(small(3, 4, 1));
  const PassTemplate& forward = at(program.templates, program.programs[0].passes[0].pass_template);
  std::vector<std::int32_t> starts;  // layer of the compute that each gather waits for
  for (const Op& op : forward.ops) {
    if (op.stream == Stream::dp) {
      starts.push_back(op.dep_count == 0 ? -2
                                         : at(forward.ops, at(forward.deps, op.first_dep)).layer);
    }
  }
  // embedding: nothing; layer 0: the pass's begin; layer 1: the embedding; layer 2: layer 0; ...
  CHECK(starts == std::vector<std::int32_t>{-2, -1, -1, 0, 1, 2});
}

TEST_CASE("sharded state: recomputed layers are gathered once in backward") {
  for (const std::int64_t layers : {1, 2}) {
    RunSpec run = small(3, 4, 1);
    run.training.recompute = Recompute::full;
    run.training.recompute_layers = layers;
    const auto operations = dp_operations(build(run), 1);
    CHECK(std::count(operations.begin(), operations.end(), gather(kLayer)) == 4);
    CHECK(std::count(operations.begin(), operations.end(), scatter(kLayer)) == 4);
  }
}

// Tied embeddings on one stage: one weight for both ends, gathered once and reduced once, last.
TEST_CASE("sharded state: tied embeddings are one unit") {
  RunSpec run = jobs::job(jobs::gpt(2, 1024, 8), {.dp = 4, .zero = 3});
  run.training.grad_dtype = Precision::bf16;
  const Program program = build(run);
  const std::int64_t embedding = (51200 + 2048) * 1024;
  const std::int64_t layer = 12 * 1024 * 1024 + 13 * 1024;
  CHECK(dp_operations(program, 0) ==
        std::vector{gather(embedding), gather(layer), gather(layer), gather(2 * 1024)});
  const auto backward = dp_operations(program, 1);
  CHECK(std::count(backward.begin(), backward.end(), gather(embedding)) == 1);
  CHECK(backward.back() == scatter(embedding));
}

// At the peak, the backward of the head: head and the layer before it gathered, the head's
// gradients; beyond what the same run holds without sharding. Each is 2 B a parameter.
TEST_CASE("sharded state: gathered units and their gradients are held while in use") {
  const auto peak = [](const RunSpec& run) {
    const Program program = build(run);
    return activation_peak(program, program.programs.front()).peak;
  };
  const Bytes whole = peak(small(1, 4, 1));
  CHECK(peak(small(3, 4, 1)) == whole + Bytes{2 * (kHead + kLayer + kHead)});
  RunSpec kept = small(3, 4, 1);  // all weights, and the head's gradients
  kept.training.reshard_after_forward = false;
  CHECK(peak(kept) == whole + Bytes{2 * (kEmbedding + 4 * kLayer + kHead + kHead)});
}

TEST_CASE("sharded state: a part of the group shares, the copies sum their shards") {
  for (const std::int64_t zero : {1, 2, 3}) {
    RunSpec run = small(zero, 8, 1);
    run.parallel.zero_group = 4;
    const Program program = build(run);
    std::int64_t scattered = 0;
    std::int64_t summed = 0;
    for (const auto& [key, count] : communications(program, 0, "gradient norm")) {
      scattered += key.second == Primitive::reduce_scatter ? count.bytes : 0;
      summed += key.second == Primitive::all_reduce ? count.bytes : 0;
    }
    CHECK(scattered == 2 * program.programs.front().parameters);
    CHECK(summed == Approx(static_cast<double>(scattered) / 4).epsilon(1e-6));
    for (const Communication& c : program.communications) {
      if (c.group == axis_set(Axis::dp) && c.trigger != "gradient norm") {
        CHECK(c.neighbours == (c.primitive == Primitive::all_reduce ? 0 : 4));
        CHECK(c.strided == (c.primitive == Primitive::all_reduce ? 4 : 0));
      }
    }
  }
}

// torchtitan under a pipeline: weights are gathered by the first micro batch that needs them and
// kept until the last backward, gradients summed and reduced once.
TEST_CASE("sharded state: with a pipeline, weights and gradients can wait for the step's end") {
  RunSpec run = jobs::job(jobs::llama(4, 1024, 3072, 8, 8, 32000),
                          {.pp = 2, .dp = 4, .zero = 3, .micro_batches = 4});
  run.training.reshard_after_forward = false;
  run.training.grad_sync = GradSync::step;
  const Program program = build(run);
  for (const std::size_t stage : {std::size_t{0}, std::size_t{1}}) {
    const Counts counts = communications(program, stage, "gradient norm");
    CHECK(counts.at({Category::dp, Primitive::all_gather}).times == 3);
    CHECK(counts.at({Category::dp, Primitive::reduce_scatter}).times == 3);
  }
}
