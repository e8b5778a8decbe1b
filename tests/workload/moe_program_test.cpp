// What mixtures of experts add to a program: by hand for small jobs.
#include <algorithm>

#include "programs.h"
#include "support/catch.h"
#include "support/moe_jobs.h"
#include "workload/memory.h"

using namespace shardsim;
using namespace shardsim::programs;

namespace {

constexpr std::int64_t kTokens = 128;
constexpr std::int64_t kHidden = 64;

Bytes bytes_of(const Program& program, const std::string& trigger) {
  for (const Communication& c : program.communications) {
    if (c.trigger == trigger) {
      return c.bytes;
    }
  }
  return Bytes{0};
}

std::int64_t expert_rows(const Program& program, std::size_t kind) {
  std::int64_t rows = 0;
  each_op(program, kind, [&](const Pass&, const Op& op) {
    if (op.kind == OpKind::kernel && at(program.labels, op.label) == "expert up") {
      rows = at(program.kernels, op.kernel).m * at(program.kernels, op.kernel).batch;
    }
  });
  return rows;
}

}  // namespace

// 4 layers: dispatch and combine forward, each again backward; local tokens 128 x top 2 x 64 x 2 B.
TEST_CASE("moe: two all_to_alls a layer forward and two backward") {
  const Program program = build(jobs::moe_job({.dp = 8, .ep = 8}));
  const Count layers = layer_collectives(program, 0, Primitive::all_to_all);
  CHECK(layers.times == 4 * 4);
  CHECK(layers.bytes == 4 * 4 * kTokens * 2 * kHidden * 2);
  CHECK(of_trigger(program, 0, "dispatch") == 4);
  CHECK(of_trigger(program, 0, "combine dgrad") == 4);
}

TEST_CASE("moe: without ep nothing is sent, experts are summed over all ranks") {
  const Program program = build(jobs::moe_job({.dp = 8}));
  CHECK(layer_collectives(program, 0, Primitive::all_to_all).times == 0);
}

// sp halves the tokens of a rank: 64 x 2 x 64 x 2 B.
TEST_CASE("moe: under sp a rank sends its slice of the tokens") {
  const Program program = build(jobs::moe_job({.tp = 2, .dp = 4, .ep = 4}));
  CHECK(bytes_of(program, "dispatch") == Bytes{kTokens / 2 * 2 * kHidden * 2});
}

// Dispatch in fp8 is half of combine in bf16; backward the gradient of combine is dispatched.
TEST_CASE("moe: tokens travel in dispatch_dtype, results in bf16") {
  RunSpec run = jobs::moe_job({.dp = 8, .ep = 8});
  run.model.moe->dispatch_dtype = Precision::fp8;
  const Program program = build(run);
  CHECK(bytes_of(program, "dispatch") == Bytes{kTokens * 2 * kHidden});
  CHECK(bytes_of(program, "combine") == Bytes{kTokens * 2 * kHidden * 2});
  CHECK(bytes_of(program, "combine dgrad") == Bytes{kTokens * 2 * kHidden});
  CHECK(bytes_of(program, "dispatch dgrad") == Bytes{kTokens * 2 * kHidden * 2});
}

// etp 2: what two ranks received is gathered, 2 x 64 x 2 copies of 64 x 2 B; sums scattered.
TEST_CASE("moe: etp gathers the experts' input and scatters their output") {
  const Program program = build(jobs::moe_job({.tp = 2, .dp = 4, .etp = 2, .ep = 4}));
  const Bytes whole{kTokens * 2 * kHidden * 2};
  CHECK(bytes_of(program, "expert up") == whole);
  CHECK(bytes_of(program, "expert down") == whole);
  CHECK(expert_rows(program, 0) == 256);
}

// Expert FLOPs forward: 3 matrices x 2 x 64 x 256 x 256 copies x 4 layers on each rank, whatever
// ep.
TEST_CASE("moe: total FLOPs over ranks do not depend on ep and etp") {
  const auto total = [](const jobs::MoeLayout& layout) {
    const RunSpec run = jobs::moe_job(layout);
    return program_flops(build(run), 0, Category::compute) * static_cast<double>(run.gpus);
  };
  const double alone = total({.dp = 8});
  CHECK(total({.dp = 8, .ep = 8}) == Approx(alone));
  CHECK(total({.tp = 2, .dp = 8, .ep = 4}) == Approx(alone));
  CHECK(total({.tp = 2, .dp = 8, .etp = 2, .ep = 4}) == Approx(alone));
}

// Gradients of experts: 8 experts x (3 x 64 x 256) x 4 layers / ep 4 in fp32 over edp 2; the rest
// over dp 8. With ep 8 nobody shares an expert.
TEST_CASE("moe: experts' gradients are summed over edp only") {
  const std::int64_t experts = 4 * 8 * 3 * 64 * 256;
  RunSpec run = jobs::moe_job({.dp = 8, .ep = 4});
  Bytes bytes{};
  const Program program = build(run);
  of_trigger(program, 0, "expert gradients", &bytes);
  CHECK(bytes == Bytes{experts / 4 * 4});
  for (const Communication& c : program.communications) {
    if (c.trigger == "expert gradients") {
      CHECK(c.group == axis_set(Axis::edp));
    }
  }
  run.parallel.ep = 8;
  CHECK(of_trigger(build(run), 0, "expert gradients") == 0);
}

// A08: memory counts all experts, whatever top_k: weights 2 B, gradients 4 B.
TEST_CASE("moe: static memory holds every local expert, not the active ones") {
  RunSpec run = jobs::moe_job({.dp = 8, .ep = 8, .zero = 1});
  const RankProgram one = build(run).programs.front();
  run.model.moe->top_k = 4;
  const RankProgram more = build(run).programs.front();
  CHECK(one.memory.weights == more.memory.weights);
  const std::int64_t experts = 4 * 3 * 64 * 256;  // one of 8 on a rank
  const std::int64_t rest = one.parameters - experts;
  CHECK(rest > 0);
  // edp is 1: an expert's 12 B of optimizer are not sharded; the rest is over dp 8.
  CHECK(one.memory.optimizer == Bytes{12 * (experts + (rest + 7) / 8)});
}

// A27: one hot place gets twice the mean; all wait for its all_to_all, it alone computes more.
TEST_CASE("moe: a hot rank has a program of its own") {
  RunSpec run = jobs::moe_job({.dp = 8, .ep = 8});
  run.moe.imbalance = 2;
  const Program program = build(run);
  REQUIRE(program.programs.size() == 2);
  CHECK(std::count(program.program_of_rank.begin(), program.program_of_rank.end(), 0) == 1);
  CHECK(expert_rows(program, 0) == 2 * 256);
  CHECK(expert_rows(program, 1) == 220);  // 256 x 6/7 = 219.4, rounded up
  CHECK(bytes_of(program, "dispatch") == Bytes{2 * kTokens * 2 * kHidden * 2});
  const auto peak = [&](std::size_t kind) {
    return activation_peak(program, program.programs.at(kind)).peak;
  };
  CHECK(peak(0) > peak(1));
  run.model.moe->capacity_factor = 1.0;  // what is above the mean is dropped
  CHECK(expert_rows(build(run), 0) == 256);
}

TEST_CASE("moe: a load for each place makes a program for each place and stage") {
  RunSpec run = jobs::moe_job({.pp = 2, .dp = 4, .ep = 4, .micro_batches = 2});
  run.moe.tokens_per_expert = {1, 2, 3, 4, 5, 6, 7, 8};
  const Program program = build(run);
  CHECK(program.programs.size() == 8);
  run.moe.tokens_per_expert = {0, 0, 3, 4, 5, 6, 7, 8};  // one place gets nothing
  CHECK(build(run).programs.size() == 8);
}

TEST_CASE("moe: leading dense layers and every n-th layer with experts") {
  RunSpec run = jobs::moe_job({.pp = 2, .dp = 4, .ep = 4, .micro_batches = 2});
  run.model.moe->first_dense = 1;
  CHECK(layer_collectives(build(run), 0, Primitive::all_to_all).times == 2 * 4);
  CHECK(layer_collectives(build(run), 1, Primitive::all_to_all).times == 2 * 8);
  run.model.moe->first_dense = 0;
  run.model.moe->every = 4;
  CHECK(layer_collectives(build(run), 0, Primitive::all_to_all).times == 2 * 4);
  CHECK(layer_collectives(build(run), 1, Primitive::all_to_all).times == 0);
}

// A shared expert is a dense MLP of its own: with tp 2 it adds a gather and a scatter as one does.
TEST_CASE("moe: shared experts are cut like a dense MLP") {
  RunSpec run = jobs::moe_job({.tp = 2, .dp = 4, .ep = 4});
  const Count without = layer_collectives(build(run), 0, Primitive::all_gather);
  run.model.moe->shared_ffn = 256;
  const Program program = build(run);
  // Forward one gather; backward one of the stored input and one of the output's gradient.
  CHECK(layer_collectives(program, 0, Primitive::all_gather).times == without.times + 4 * 3);
}

TEST_CASE("moe: every mix of axes, schedules and recompute builds and checks") {
  for (const std::int64_t tp : {1, 2}) {
    for (const std::int64_t pp : {1, 2}) {
      for (const std::int64_t etp : {std::int64_t{1}, tp}) {
        for (const std::int64_t ep : {1, 2, 4}) {
          for (const std::int64_t zero : {0, 1}) {
            RunSpec run = jobs::moe_job({.tp = tp,
                                         .pp = pp,
                                         .dp = 4,
                                         .etp = etp,
                                         .ep = ep,
                                         .zero = zero,
                                         .micro_batches = 2});
            run.model.moe->shared_ffn = 128;
            run.moe.imbalance = ep > 1 ? 1.5 : 1;
            run.training.recompute = zero == 1 ? Recompute::full : Recompute::selective;
            CHECK_NOTHROW(build(run));
          }
        }
      }
    }
  }
}
