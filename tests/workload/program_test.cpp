#include <map>

#include "base/errors.h"
#include "sharding/parameters.h"
#include "support/catch.h"
#include "support/jobs.h"
#include "workload/build_program.h"
#include "workload/check_program.h"
#include "workload/memory.h"

using namespace shardsim;

namespace {

Program build(const RunSpec& run) {
  const RankGrid grid(run.parallel);
  Program program = build_program(run, grid);
  check_program(program, grid);
  return program;
}

struct Count {
  std::int64_t times = 0;
  std::int64_t bytes = 0;
};

// Communications of one stage's step by category and primitive.
using Counts = std::map<std::pair<Category, Primitive>, Count>;

template <class Visit>
void each_op(const Program& program, std::size_t stage, Visit&& visit) {
  for (const Pass& pass : program.programs.at(stage).passes) {
    for (const Op& op : at(program.templates, pass.pass_template).ops) {
      visit(pass, op);
    }
  }
}

Counts communications(const Program& program, std::size_t stage,
                      const std::string& except_trigger = "") {
  Counts counts;
  each_op(program, stage, [&](const Pass&, const Op& op) {
    if (op.kind != OpKind::communication) {
      return;
    }
    const Communication& c = at(program.communications, op.communication);
    if (!except_trigger.empty() && c.trigger.rfind(except_trigger, 0) == 0) {
      return;
    }
    Count& entry = counts[{op.category, c.primitive}];
    entry.times += 1;
    entry.bytes += c.bytes.value();
  });
  return counts;
}

std::int64_t of_trigger(const Program& program, std::size_t stage, const std::string& trigger,
                        Bytes* bytes = nullptr) {
  std::int64_t times = 0;
  each_op(program, stage, [&](const Pass&, const Op& op) {
    if (op.kind == OpKind::communication &&
        at(program.communications, op.communication).trigger == trigger) {
      ++times;
      if (bytes != nullptr) {
        *bytes += at(program.communications, op.communication).bytes;
      }
    }
  });
  return times;
}

double program_flops(const Program& program, std::size_t stage, Category category) {
  double sum = 0;
  each_op(program, stage, [&](const Pass&, const Op& op) {
    if (op.kind == OpKind::kernel && op.category == category) {
      sum += flops(at(program.kernels, op.kernel)).value();
    }
  });
  return sum;
}

// Collectives of the layers alone: those on the tp group whose layer is set.
Count layer_collectives(const Program& program, std::size_t stage, Primitive primitive) {
  Count result;
  each_op(program, stage, [&](const Pass&, const Op& op) {
    if (op.kind == OpKind::communication && op.layer >= 0 &&
        at(program.communications, op.communication).primitive == primitive) {
      result.times += 1;
      result.bytes += at(program.communications, op.communication).bytes.value();
    }
  });
  return result;
}

}  // namespace

TEST_CASE("program: what is not implemented is refused by name, all at once") {
  RunSpec run = jobs::job(jobs::llama3_8b(), {.tp = 16, .zero = 2});
  run.parallel.kv_strategy = KvStrategy::gather;
  run.parallel.cp = 2;
  run.model.moe = MoeSpec{};
  run.training.precision = Precision::fp8;
  try {
    (void)build_program(run, RankGrid(run.parallel));
    FAIL("must throw");
  } catch (const ConfigError& error) {
    REQUIRE(error.problems().size() == 5);
    CHECK(to_text(error.problems()[0]) ==
          "job.json:/model/moe: a mixture of experts is not implemented yet; use a dense model");
    CHECK(to_text(error.problems()[1]) ==
          "job.json:/parallel/cp: context parallelism is not implemented yet; use 1");
    CHECK(to_text(error.problems()[2]) ==
          "job.json:/parallel/zero: ZeRO stage 2 is not implemented yet; use 0 or 1");
    CHECK(error.problems()[3].pointer == "/parallel/kv_strategy");
    CHECK(error.problems()[4].pointer == "/training/precision");
  }
}

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
    // 16 micro batches of the first chunk are alive at the peak.
    const double layers = sp ? 12.35 : 66.84;
    const double masks = 16.0 * 2048 * 12288 / t / gib;
    CHECK(peak_gib(large, 0) > layers);
    // Selective recomputation holds one layer's scores (5 a s^2 / t) while it redoes them.
    const double scores = sp ? 5.0 * 96 * 2048 * 2048 / 8 / gib : 0;
    CHECK(peak_gib(large, 0) < (layers + masks + scores) * 1.002);
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
