// Context parallelism in time: what overlap hides, and how the ways to exchange KV compare.
#include "analysis/analysis.h"
#include "random_job.h"
#include "support/catch.h"

namespace shardsim {
namespace {

// One node of round GPUs, 100 TFLOP/s at any size; 4 CP ranks, links of `rate` and no latency.
RunSpec round_ring(double rate, bool overlap) {
  RunSpec run = jobs::job(jobs::llama(2, 1024, 2048, 8, 8, 32000), {.cp = 4, .sequence = 4096});
  run.cluster = test::dgx_h100_like();
  run.cluster.gpu = test::round_gpu();
  run.cluster.node.nvlink = {BytesPerSecond{rate}, 1.0, Seconds{}};
  run.cluster.fabric.hop_latency = Seconds{};
  run.nodes = 1;
  run.stack.host_time_per_kernel = Seconds{};
  run.training.overlap.cp = overlap;
  run.training.overlap.grad_reduce = false;
  return run;
}

// A step of the ring: half a pair of blocks of 1024 tokens, 8 heads of 128, forward 2 x 1024^2 x
// 1024 FLOP in 21.5 us, backward 2.5 times that, 53.7 us. Keys and values: 1024 x 2 x 1024 x 2 B.
// In links that take 30 us for them, a layer hides under attention
//   forward   3 x min(21.5, 30) us
//   backward  min(53.7, 30) + 2 x min(53.7, 60) + min(53.7, 30) us
TEST_CASE("context: a ring step takes the longer of attention and transfer") {
  const double forward = 2.0 * 1024 * 1024 * 1024 / 1e14;
  const double backward = 2.5 * forward;
  const double transfer = 30e-6;
  const double rate = 1024.0 * 2 * 1024 * 2 / transfer;
  const double beside = test::simulate_run(round_ring(rate, true)).trace.step_s;
  const double after = test::simulate_run(round_ring(rate, false)).trace.step_s;
  CHECK(after - beside == Approx(2 * (3 * forward + 2 * transfer + 2 * backward)));
}

TEST_CASE("context: what no attention hides is exposed cp time") {
  const double transfer = 30e-6;
  const double rate = 1024.0 * 2 * 1024 * 2 / transfer;
  const double forward = 2.0 * 1024 * 1024 * 1024 / 1e14;
  const Breakdown beside = step_breakdown(test::simulate_run(round_ring(rate, true)).trace);
  const Breakdown after = step_breakdown(test::simulate_run(round_ring(rate, false)).trace);
  CHECK(beside[Bin::cp] ==
        Approx(2 * (3 * (transfer - forward) + 2 * (2 * transfer - 2.5 * forward))));
  CHECK(after[Bin::cp] == Approx(2 * 9 * transfer));
}

// The plain split: the last rank does 3 1/2 of 8 blocks, the others wait for it.
TEST_CASE("context: without balance the step is as slow as the last rank") {
  RunSpec run = round_ring(1e15, true);
  const double balanced = test::simulate_run(run).trace.step_s;
  run.parallel.cp_balanced = false;
  const auto plain = test::simulate_run(run);
  // Balanced: 4 steps of half a block pair; the last rank: 1/2 + 3 pairs, that is 7 halves.
  const double half = 2.0 * 1024 * 1024 * 1024 / 1e14;
  CHECK(plain.trace.step_s - balanced == Approx(2 * (7 - 4) * 3.5 * half).epsilon(1e-6));
}

// Measured on one node (GLM-4.5-Air, 65,536 tokens, 8 H200): all-to-all at least as fast as the
// ring at cp 2 and 4, memory falls with cp for both. Here a dense model with its attention.
TEST_CASE("context: in a node all-to-all is no slower than a ring, and both save memory") {
  ModelSpec model = jobs::llama(4, 4096, 10944, 96, 8, 151552);
  model.head_dim = 128;
  std::int64_t last_memory = 0;
  for (const std::int64_t cp : {1, 2, 4}) {
    double tokens[2] = {};
    std::int64_t memory[2] = {};
    for (const int way : {0, 1}) {
      RunSpec run = jobs::job(
          model, {.cp = cp, .dp = 8 / cp, .zero = 1, .micro_batches = cp, .sequence = 65536});
      run.cluster = test::dgx_h100_like();
      run.cluster.corrections = {Seconds{10e-6}, Seconds{7e-6}, Seconds{30e-6}};
      run.nodes = 1;
      run.parallel.cp_comm = way == 0 ? CpComm::a2a : CpComm::p2p;
      const Program program = build_program(run, RankGrid(run.parallel));
      tokens[way] = 8.0 / test::simulate_program(program, run, FoldMode::automatic).trace.step_s;
      memory[way] = memory_use(program, run).peak.value();
    }
    CHECK(tokens[0] >= tokens[1]);
    if (last_memory > 0) {
      CHECK(std::max(memory[0], memory[1]) < last_memory);
    }
    last_memory = std::min(memory[0], memory[1]);
  }
}

}  // namespace
}  // namespace shardsim
