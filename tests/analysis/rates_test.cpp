#include "analysis/analysis.h"
#include "base/errors.h"
#include "support/catch.h"
#include "support/toy_trace.h"
#include "trace/check_trace.h"
#include "trace/dump_trace.h"

using namespace shardsim;

namespace {

// Llama-3 8B at 8192 tokens: 51.47 GFLOP per token (nvidia-causal).
RunSpec llama3_8b() {
  RunSpec run;
  run.model.layers = 32;
  run.model.hidden = 4096;
  run.model.ffn = 14336;
  run.model.heads = 32;
  run.model.kv_heads = 8;
  run.model.head_dim = 128;
  run.model.vocab = 128256;
  run.model.gated_mlp = true;
  run.gpus = 64;
  run.batch.global = 128;
  run.batch.sequence = 8192;
  run.cluster.gpu.peak[Precision::bf16] = FlopPerSecond{989e12};
  return run;
}

}  // namespace

TEST_CASE("rates: a GPU without a bf16 peak or a step without time is refused") {
  RunSpec run = llama3_8b();
  CHECK_THROWS_AS(rates(run, 0), InternalError);
  run.cluster.gpu.peak.clear();
  CHECK_THROWS_AS(rates(run, 1), InternalError);
}

TEST_CASE("rates: tokens, model FLOP/s and MFU") {
  const Rates found = rates(llama3_8b(), 2);
  // 128 * 8192 tokens in 2 s = 524288 tokens/s; on 64 GPUs 8192 each.
  CHECK(found.tokens_per_s == 524288);
  CHECK(found.tokens_per_s_per_gpu == 8192);
  CHECK(found.model_flops_per_token == Approx(51.47e9).epsilon(1e-4));
  CHECK(found.model_tflops_per_gpu == Approx(8192 * 51.47e9 / 1e12).epsilon(1e-4));
  CHECK(found.mfu == Approx(8192 * 51.47e9 / 989e12).epsilon(1e-4));
  CHECK(found.hfu == found.mfu);
  CHECK(found.flops_convention == "nvidia-causal");
  CHECK(found.peak_name == "bf16 dense");
}

TEST_CASE("rates: HFU counts the forward that runs again") {
  RunSpec run = llama3_8b();
  const double flops = rates(run, 1).model_flops_per_token;
  // All but the head, 6 * 4096 * 128256 = 3.152e9 of 51.47e9 FLOP, is in the layers: a third again.
  const double layers = flops - 6.0 * 4096 * 128256;
  run.training.recompute = Recompute::full;
  CHECK(rates(run, 1).hfu / rates(run, 1).mfu == Approx(1 + layers / 3 / flops));
  // Block: 4 of the 8 layers of each of 4 stages.
  run.training.recompute_method = RecomputeMethod::block;
  run.training.recompute_layers = 4;
  run.parallel.pp = 4;
  CHECK(rates(run, 1).hfu / rates(run, 1).mfu == Approx(1 + layers / 3 / 2 / flops));
  // Selective: causal attention forward, 2 * 32 layers * 4096 * 8192 = 2.147e9 FLOP.
  run.training.recompute = Recompute::selective;
  CHECK(rates(run, 1).hfu / rates(run, 1).mfu == Approx(1 + 2.0 * 32 * 4096 * 8192 / flops));
}

TEST_CASE("rates: fp16 is measured against the fp16 peak where the GPU states it") {
  RunSpec run = llama3_8b();
  run.training.precision = Precision::fp16;
  CHECK(rates(run, 1).peak_name == "bf16 dense");
  run.cluster.gpu.peak[Precision::fp16] = FlopPerSecond{500e12};
  CHECK(rates(run, 1).peak_name == "fp16 dense");
  CHECK(rates(run, 1).peak == FlopPerSecond{500e12});
}

TEST_CASE("rates: a GPU without bf16 is measured against the peak of the run's precision") {
  RunSpec run = llama3_8b();
  run.training.precision = Precision::fp32;
  run.cluster.gpu.peak = {{Precision::fp32, FlopPerSecond{67e12}}};
  CHECK(rates(run, 1).peak_name == "fp32 dense");
  CHECK(rates(run, 1).peak == FlopPerSecond{67e12});
}

TEST_CASE("memory_use: the worst kind of rank of each stage, against what the GPU has") {
  Program program;
  PassTemplate t;
  t.ops.resize(1);
  t.memory = {{0, Bytes{7}, 0}, {0, Bytes{-7}, 0}};
  program.templates = {t};
  RankProgram small{1, 0, {Bytes{1}, Bytes{2}, Bytes{3}, Bytes{4}}, {{0, 0, 0}}};
  RankProgram large{1, 0, {Bytes{10}, Bytes{2}, Bytes{3}, Bytes{4}}, {}};
  RankProgram first{0, 0, {Bytes{5}, {}, {}, {}}, {{0, 0, 0}}};
  program.programs = {large, small, first};
  RunSpec run;
  run.cluster.gpu.memory_capacity = Bytes{18};
  const MemoryUse use = memory_use(program, run);
  REQUIRE(use.stages.size() == 2);
  CHECK(use.stages[0].peak == Bytes{12});  // 5 + 7
  CHECK(use.stages[1].peak == Bytes{19});  // 10 + 2 + 3 + 4 beats 1 + 2 + 3 + 4 + 7
  CHECK(use.stages[1].activations == Bytes{0});
  CHECK(use.peak == Bytes{19});
  CHECK_FALSE(use.fits);
  run.cluster.gpu.memory_capacity = Bytes{19};
  CHECK(memory_use(program, run).fits);
}

TEST_CASE("links: busiest first, idle ones left out") {
  Trace trace;
  trace.step_s = 2;
  trace.links = {{"slow", 1, BytesPerSecond{100}, 50, {{"dp", 50}}},
                 {"idle", 1, BytesPerSecond{100}, 0, {}},
                 {"fast", 8, BytesPerSecond{1000}, 1500, {{"tp", 1500}}}};
  const std::vector<LinkUtilisation> links = link_utilisation(trace);
  REQUIRE(links.size() == 2);
  CHECK(links[0].link == "fast");
  CHECK(links[0].utilisation == 0.75);  // 1500 B in 2 s at 1000 B/s
  CHECK(links[0].count == 8);
  CHECK(links[1].utilisation == 0.25);
}

// Class 0 (1 rank): two reductions of 1 s, at 1 and at 2, the second beside 0.25 s of compute: 1 +
// 0.75 s exposed. Class 1 (3 ranks) has a reduction of 2 s beside 2 s of compute: not exposed.
TEST_CASE("collectives: time in flight, and how much of it is exposed") {
  Trace trace;
  const std::int32_t first = add_template(trace, "F",
                                          {{Stream::compute, Category::compute, 1},
                                           {Stream::tp, Category::tp, 1, {0}, 0, 0, "out"},
                                           {Stream::compute, Category::compute, 0, {1}},
                                           {Stream::tp, Category::tp, 1, {2}, 0, 0, "out"},
                                           {Stream::compute, Category::compute, 0.25},
                                           {Stream::compute, Category::compute, 1, {3}}});
  const std::int32_t second = add_template(
      trace, "G",
      {{Stream::tp, Category::tp, 2, {}, 0, 0, "out"}, {Stream::compute, Category::compute, 2}});
  add_rank(trace, add_program(trace, 0, {first}, 1), {0});
  add_rank(trace, add_program(trace, 0, {second}, 1), {1}, 3);
  trace.links = {{"nvlink", 4, BytesPerSecond{9}, 0, {}}};
  trace.lanes[0].bound_link = 0;
  execute(trace);
  const std::vector<CollectiveUse> rows = collective_uses(trace);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].group == "tp");
  CHECK(rows[0].label == "out");
  CHECK(rows[0].algorithm == "ring");
  CHECK(rows[0].count == 1.25);  // (1 * 2 + 3 * 1) / 4 ranks
  CHECK(rows[0].message == Bytes{1000});
  CHECK(rows[0].time_s == Approx(2));            // all ranks: 2 s in flight
  CHECK(rows[0].exposed_s == Approx(1.75 / 4));  // one rank of four
  CHECK(rows[0].bound_link.empty());             // most time is on a lane without links
}

// Rank 0 computes 1 s and sends for 2 s; rank 1 receives from the start. Over both ranks: one
// message, half of one per rank, 1 s in flight per rank. Rank 1 waits from 0 to 1, which is not
// exposed, then for the message from 1 to 3; rank 0 has nothing else to do meanwhile.
TEST_CASE("collectives: a message counted once for its bytes counted twice for its time") {
  Trace trace;
  const std::int32_t sends = add_template(
      trace, "F",
      {{Stream::compute, Category::compute, 1},
       {Stream::pp_send_forward, Category::pp, 2, {0}, 0, 0, "stage boundary forward send"}});
  const std::int32_t receives = add_template(
      trace, "G",
      {{Stream::pp_recv_forward, Category::pp, 2, {}, 0, 0, "stage boundary forward recv"},
       {Stream::compute, Category::compute, 1, {0}}});
  add_rank(trace, add_program(trace, 0, {sends}, 1), {0});
  add_rank(trace, add_program(trace, 0, {receives}, 1), {0});
  trace.programs[0].slot_roles = {1};
  trace.programs[1].slot_roles = {2};
  execute(trace);
  const std::vector<CollectiveUse> rows = collective_uses(trace);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].label == "stage boundary forward send_recv");
  CHECK(rows[0].count == 0.5);
  CHECK(rows[0].message == Bytes{1000});
  CHECK(rows[0].time_s == Approx(1));     // 2 s at one of two ranks
  CHECK(rows[0].exposed_s == Approx(2));  // 2 s at both
}

TEST_CASE("check_trace: times that contradict the program") {
  Trace trace;
  for (int i = 0; i < 2; ++i) {
    const std::int32_t t = add_template(
        trace, "F",
        {{Stream::compute, Category::compute, 1}, {Stream::tp, Category::tp, 1, {0}, 0, 0}});
    add_rank(trace, add_program(trace, 0, {t}, 1), {0});
  }
  execute(trace);
  CHECK_NOTHROW(check_trace(trace));

  Trace bad = trace;
  bad.ranks[1].start_s[1] = 0.5;
  CHECK_THROWS_WITH(check_trace(bad), Catch::Contains("rank class 1, operation 1 starts before "
                                                      "operation 0 has ended"));
  bad = trace;
  bad.ranks[0].end_s[0] = -1;
  CHECK_THROWS_WITH(check_trace(bad), Catch::Contains("rank class 0, operation 0"));
  bad = trace;
  bad.ranks[0].end_s[1] = 1.5;
  CHECK_THROWS_WITH(check_trace(bad), Catch::Contains("lane 0, use 0"));
  bad = trace;
  bad.step_s = 3;
  CHECK_THROWS_AS(check_trace(bad), InternalError);

  CHECK_THAT(dump_trace(trace), Catch::Contains("class 1 rank 1 size 1 program 1 stage 0\n"));
  CHECK_THAT(
      dump_trace(trace),
      Catch::Contains("    op 1 [1.000000000000, 2.000000000000] tp tp \"op\" lane 0 1000 B\n"));
}
