#include "support/catch.h"
#include "workload/programs.h"

using namespace shardsim;
using namespace shardsim::programs;

// 2 forward + 2 backward per layer (Megatron-LM): 80 layers 320 of b * s * h * 2 B; with full
// recomputation the forward ones again: 480. The embedding adds one, the head one backward, the
// cross-entropy three of b * s * 4 B.
TEST_CASE("program: tensor parallelism without sp has 4 all_reduces a layer, 6 recomputed") {
  RunSpec run = jobs::job(jobs::llama3_70b(), {.tp = 8, .sequence = 4096});
  const std::int64_t message = std::int64_t{4096} * 8192 * 2;
  Program program = build(run);
  Count layers = layer_collectives(program, 0, Primitive::all_reduce);
  CHECK(layers.times == 320);
  CHECK(layers.bytes == 320 * message);
  const Counts all = communications(program, 0, "gradient norm");
  REQUIRE(all.size() == 1);
  CHECK(all.at({Category::tp, Primitive::all_reduce}).times == 320 + 2 + 3);
  CHECK(all.at({Category::tp, Primitive::all_reduce}).bytes == 322 * message + 3 * 4096 * 4);
  run.training.recompute = Recompute::full;
  program = build(run);
  layers = layer_collectives(program, 0, Primitive::all_reduce);
  CHECK(layers.times == 480);
  CHECK(layers.bytes == 480 * message);
}

// An all-reduce moves what a reduce-scatter and an all-gather of the same buffer move. In units of
// half an all-reduce: without sp 8 a layer; with it 4 + 4 + 2 gathers of stored slices: 1.25 times.
// Recomputed: 12 against 14: 7/6.
TEST_CASE("program: sequence parallelism moves 1.25 times the bytes, 7/6 when recomputed") {
  for (const Recompute recompute : {Recompute::none, Recompute::full}) {
    RunSpec run = jobs::job(jobs::gpt(4, 1024, 16), {.tp = 8});
    run.training.recompute = recompute;
    const Program plain = build(run);
    run.parallel.sp = true;
    const Program sp = build(run);
    const double sums =
        static_cast<double>(layer_collectives(plain, 0, Primitive::all_reduce).bytes) * 2;
    const Count gathers = layer_collectives(sp, 0, Primitive::all_gather);
    const Count scatters = layer_collectives(sp, 0, Primitive::reduce_scatter);
    CHECK(layer_collectives(sp, 0, Primitive::all_reduce).times == 0);
    const bool full = recompute == Recompute::full;
    CHECK(gathers.times == 4 * (full ? 8 : 6));   // 2 forward, 2 + 2 backward
    CHECK(scatters.times == 4 * (full ? 6 : 4));  // 2 forward, 2 backward
    CHECK(static_cast<double>(gathers.bytes + scatters.bytes) / sums ==
          Approx(full ? 7.0 / 6 : 1.25));
  }
}

TEST_CASE("program: sp sums gradients of replicated weights over tp once a step") {
  RunSpec run = jobs::job(jobs::gpt(4, 1024, 16), {.tp = 8, .sp = true, .micro_batches = 3});
  Bytes bytes{};
  CHECK(of_trigger(build(run), 0, "replicated gradients", &bytes) == 1);
  // Per layer two norms of weight and bias and two output biases; the last norm: fp32.
  CHECK(bytes == Bytes{4 * (4 * (4 + 2) * 1024 + 2 * 1024)});
  run.parallel.sp = false;
  CHECK(of_trigger(build(run), 0, "replicated gradients") == 0);
}

// 80 layers of k and v weights, h x 128 each on every rank, fp32, among the 2 sharers of a head.
TEST_CASE("program: sharers of a KV head sum its gradients once a step") {
  RunSpec run = jobs::job(jobs::llama3_70b(), {.tp = 16, .sequence = 4096});
  const Program program = build(run);
  Bytes bytes{};
  CHECK(of_trigger(program, 0, "shared KV heads", &bytes) == 1);
  CHECK(bytes == Bytes{std::int64_t{80} * 2 * 8192 * 128 * 4});
  for (const Communication& communication : program.communications) {
    CHECK(communication.neighbours == (communication.trigger == "shared KV heads" ? 2 : 0));
  }
  run.parallel.tp = 8;
  CHECK(of_trigger(build(run), 0, "shared KV heads") == 0);
}

// Bytes of gradients and parameters: dense weights of llama3-8b with padded vocabulary of tp 1
// (128256 = 1002 * 128, no padding).
TEST_CASE("program: ZeRO 0 reduces gradients, ZeRO 1 scatters them and gathers parameters") {
  const std::int64_t parameters = 8'030'261'248;
  for (const bool overlap : {false, true}) {
    RunSpec run = jobs::job(jobs::llama3_8b(), {.dp = 8, .micro_batches = 2});
    run.training.overlap.grad_reduce = overlap;
    run.training.overlap.param_gather = overlap;
    Counts counts = communications(build(run), 0);
    CHECK(counts.at({Category::dp, Primitive::all_reduce}).bytes == parameters * 4);
    run.parallel.zero = 1;
    counts = communications(build(run), 0);
    CHECK(counts.at({Category::dp, Primitive::reduce_scatter}).bytes == parameters * 4);
    CHECK(counts.at({Category::dp, Primitive::all_gather}).bytes == parameters * 2);
    CHECK(counts.at({Category::dp, Primitive::all_gather}).times ==
          counts.at({Category::dp, Primitive::reduce_scatter}).times);
    // One bucket when nothing overlaps; else at least 40 M parameters each.
    const std::int64_t buckets = counts.at({Category::dp, Primitive::all_gather}).times;
    CHECK((overlap ? buckets > 50 && buckets <= parameters / 40'000'000 : buckets == 1));
    // A ring sends (n - 1)/n of a scattered or gathered buffer per GPU: 28.1 GB in bf16.
    run.training.grad_dtype = Precision::bf16;
    counts = communications(build(run), 0);
    CHECK(7.0 / 8 *
              static_cast<double>(counts.at({Category::dp, Primitive::reduce_scatter}).bytes +
                                  counts.at({Category::dp, Primitive::all_gather}).bytes) ==
          Approx(28.1e9).epsilon(2e-3));
  }
}

TEST_CASE("program: only the first micro batch gathers and only the last reduces") {
  RunSpec run = jobs::job(jobs::llama3_8b(), {.dp = 4, .zero = 1, .micro_batches = 3});
  const Program program = build(run);
  each_op(program, 0, [&](const Pass& pass, const Op& op) {
    if (op.category != Category::dp) {
      return;
    }
    const bool gather =
        at(program.communications, op.communication).primitive == Primitive::all_gather;
    CHECK(pass.micro_batch == (gather ? 0 : 2));
  });
  CHECK(program.programs[0].passes.size() == 7);  // 3 F, 3 B, step end
  CHECK(program.templates.size() == 5);           // F, F gathered, B, B reduced, step end
}

TEST_CASE("program: a stated bucket size holds on every stage") {
  RunSpec run = jobs::job(jobs::llama3_8b(), {.pp = 2, .dp = 2, .zero = 1, .micro_batches = 2});
  CHECK(communications(build(run), 1).at({Category::dp, Primitive::all_gather}).times == 1);
  run.training.grad_bucket = Bytes{4 * 500'000'000};
  CHECK(communications(build(run), 1).at({Category::dp, Primitive::all_gather}).times > 3);
}

// Stages exchange b * s * h * 2 B per micro batch, over tp under sp or scatter-gather; without sp
// the latter gathers on the receiver.
TEST_CASE("program: stage boundaries carry one activation each way per micro batch") {
  RunSpec run = jobs::job(jobs::gpt(8, 1024, 16), {.tp = 4, .pp = 2, .vpp = 2, .micro_batches = 4});
  const std::int64_t message = 2048 * 1024 * 2;
  const auto sent = [&](std::int64_t bytes) {
    for (const std::size_t stage : {std::size_t{0}, std::size_t{1}}) {
      const Counts counts = communications(build(run), stage, "tied embeddings");
      // Model chunks 0 1 2 3 sit on stages 0 1 0 1: three boundaries, each way.
      const std::int64_t forward = stage == 0 ? 2 : 1;
      CHECK(counts.at({Category::pp, Primitive::send}).times == 4 * (forward + (3 - forward)));
      CHECK(counts.at({Category::pp, Primitive::send}).bytes == 4 * 3 * bytes);
      CHECK(counts.at({Category::pp, Primitive::recv}).bytes == 4 * 3 * bytes);
    }
  };
  sent(message);
  run.training.p2p_scatter_gather = true;
  sent(message / 4);
  CHECK(communications(build(run), 0).at({Category::pp, Primitive::all_gather}).bytes ==
        4 * 3 * message);
  run.parallel.sp = true;
  sent(message / 4);
  CHECK(communications(build(run), 0).count({Category::pp, Primitive::all_gather}) == 0);
}

TEST_CASE("program: boundaries block unless the schedule is interleaved and all agree") {
  RunSpec run = jobs::job(jobs::gpt(8, 1024, 16), {.pp = 2, .vpp = 2, .micro_batches = 4});
  const auto waits = [&](Stream stream, StreamMask on) {
    bool wait = false;
    const Program program = build(run);
    each_op(program, 1, [&](const Pass& pass, const Op& op) {
      wait = wait || (pass.micro_batch >= 0 && op.stream == stream && (op.join & on) != 0);
    });
    return wait;
  };
  const auto compute_waits = [&] { return waits(Stream::compute, mask(Stream::pp_send_forward)); };
  const auto receives_wait = [&] { return waits(Stream::pp_recv_forward, mask(Stream::compute)); };
  CHECK_FALSE(compute_waits());
  run.stack.p2p = P2pStyle::blocking;
  CHECK(compute_waits());
  CHECK_FALSE(receives_wait());  // received into a queue
  run.stack.p2p = P2pStyle::overlapped;
  run.training.overlap.pp = false;
  CHECK(compute_waits());
  run = jobs::job(jobs::gpt(8, 1024, 16), {.pp = 2, .micro_batches = 4});
  CHECK(compute_waits());  // 1f1b
  CHECK(receives_wait());
}

TEST_CASE("program: tied embeddings meet between the end stages only") {
  RunSpec run = jobs::job(jobs::gpt(8, 1024, 16), {.tp = 4, .pp = 4, .micro_batches = 4});
  const Program program = build(run);
  Bytes bytes{};
  CHECK(of_trigger(program, 0, "tied embeddings", &bytes) == 1);
  CHECK(bytes == Bytes{51200 / 4 * 1024 * 4});
  CHECK(of_trigger(program, 1, "tied embeddings") == 0);
  CHECK(of_trigger(program, 3, "tied embeddings") == 1);
  run.model.tied_embeddings = false;
  CHECK(of_trigger(build(run), 0, "tied embeddings") == 0);
}

// Backward of qkv without sp: the input gradient's sum runs beside wgrad; the norm before waits.
TEST_CASE("program: backward sums run beside wgrad when the stack overlaps them") {
  for (const bool overlap : {false, true}) {
    RunSpec run = jobs::job(jobs::llama3_8b(), {.tp = 8});
    run.stack.tp_wgrad_overlap = overlap;
    const Program program = build(run);
    for (const PassTemplate& pass : program.templates) {
      for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        if (at(program.labels, pass.ops[i].label) != "up dgrad all_reduce") {
          continue;
        }
        const std::string before = at(program.labels, pass.ops[i - 1].label);
        CHECK(before == (overlap ? "up dgrad" : "up wgrad"));
        CHECK(at(program.labels, pass.ops[i + 1].label) == (overlap ? "up wgrad" : "norm dgrad"));
      }
    }
  }
}

// One timer a layer pass: forward 16 + 2 flash + 4 tp launches, backward 30 + 4 + 4.
TEST_CASE("program: the host launches each layer pass") {
  RunSpec run = jobs::job(jobs::llama3_8b(), {.tp = 8});
  const auto launches = [&] {
    std::map<std::int32_t, int> result;
    const Program program = build(run);
    each_op(program, 0, [&](const Pass&, const Op& op) {
      if (op.stream == Stream::host) {
        result[op.launches] += 1;
      }
    });
    return result;
  };
  CHECK(launches() == std::map<std::int32_t, int>{{22, 32}, {38, 32}});
  run.training.recompute = Recompute::full;
  CHECK(launches() == std::map<std::int32_t, int>{{22, 32}, {60, 32}});
  run.parallel.tp = 1;
  run.training.recompute = Recompute::none;
  run.training.attention = AttentionKind::unfused;
  CHECK(launches() == std::map<std::int32_t, int>{{22, 32}, {42, 32}});
}

// Every layout that the grid allows is buildable and passes the checker: indices, meetings,
// memory back to its start, no deadlock.
TEST_CASE("program: small layouts all check") {
  for (const std::int64_t tp : {1, 2, 4}) {
    for (const std::int64_t pp : {1, 2, 4}) {
      for (const std::int64_t vpp : {1, 2}) {
        for (const std::int64_t dp : {1, 2}) {
          for (int option = 0; option < 16; ++option) {
            const bool interleaved = vpp > 1 && pp > 1;
            RunSpec run = jobs::job(jobs::gpt(8, 256, 8), {.tp = tp,
                                                           .sp = (option & 1) != 0,
                                                           .pp = pp,
                                                           .vpp = interleaved ? vpp : 1,
                                                           .dp = dp,
                                                           .zero = (option >> 1) & 1,
                                                           .micro_batches = 8});
            run.stack.p2p = (option & 4) != 0 ? P2pStyle::blocking : P2pStyle::overlapped;
            run.training.recompute = (option & 8) != 0 ? Recompute::full : Recompute::selective;
            run.training.overlap.grad_reduce = (option & 2) == 0 || (option & 1) == 0;
            if (!interleaved && (option & 8) != 0) {
              run.training.schedule = "gpipe";
            }
            CHECK_NOTHROW(build(run));
          }
        }
      }
    }
  }
}
