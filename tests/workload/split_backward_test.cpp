// Programs whose schedules split backward: what each part computes, holds and exchanges.
#include "base/errors.h"
#include "support/catch.h"
#include "workload/memory.h"
#include "workload/pass_order.h"
#include "workload/programs.h"
#include "workload/schedule.h"

using namespace shardsim;
using namespace shardsim::programs;

namespace {

RunSpec with_schedule(const std::string& schedule, const ModelSpec& model,
                      const jobs::Layout& layout) {
  RunSpec run = jobs::job(model, layout);
  run.training.schedule = schedule;
  run.cluster.gpu.memory_bandwidth = BytesPerSecond{1e12};
  run.cluster.gpu.peak = {{Precision::bf16, FlopPerSecond{1e14}}};
  return run;
}

// The first that has no head.
const PassTemplate& template_named(const Program& program, const std::string& start) {
  for (const PassTemplate& t : program.templates) {
    if (t.name.rfind(start, 0) == 0 && t.name.find("head") == std::string::npos) {
      return t;
    }
  }
  FAIL("no template begins with " << start);
  throw 0;
}

std::int64_t net_bytes(const PassTemplate& t) {
  std::int64_t sum = 0;
  for (const MemoryEvent& event : t.memory) {
    sum += event.delta.value();
  }
  return sum;
}

double all_flops(const Program& program, Category category) {
  double sum = 0;
  for (std::size_t stage = 0; stage < program.programs.size(); ++stage) {
    sum += program_flops(program, stage, category);
  }
  return sum;
}

}  // namespace

// Qi et al., arXiv 2401.10241 table 1: after B a GPT layer keeps 32 s b h of its 34 s b h + 5 a s^2
// b: the inputs (2 + 2 + 2 + 8) and the output gradients (6 + 2 + 8 + 2) of its four products.
TEST_CASE("split backward: between B and W a GPT layer holds 32 s b h") {
  const std::int64_t s = 2048;
  const std::int64_t b = 2;
  const std::int64_t h = 1024;
  RunSpec run = with_schedule("zb-h1", jobs::gpt(12, h, 8),
                              {.pp = 3, .micro_batches = 4, .micro = b, .sequence = s});
  run.training.attention = AttentionKind::unfused;
  const Program program = build(run);
  const std::int64_t layers = 4;
  const std::int64_t saved = 34 * s * b * h + 5 * 8 * s * s * b;
  CHECK(net_bytes(template_named(program, "forward of 4 layers")) >= layers * saved);
  CHECK(net_bytes(program.templates[static_cast<std::size_t>(
            program.programs[1].passes[0].pass_template)]) == layers * saved);
  for (const Pass& pass : program.programs[1].passes) {
    const PassTemplate& t = at(program.templates, pass.pass_template);
    if (t.kind == PassKind::backward) {
      CHECK(net_bytes(t) == layers * (32 * s * b * h - saved));
    } else if (t.kind == PassKind::weight) {
      CHECK(net_bytes(t) == -layers * 32 * s * b * h);
    }
  }
}

// One layer's weight products are a third of its products, forward and backward; W has no others.
TEST_CASE("split backward: the parts compute what the whole backward computes") {
  const jobs::Layout layout{.tp = 2, .pp = 4, .micro_batches = 8};
  const ModelSpec model = jobs::llama(8, 1024, 3072, 8, 8, 32000);
  const Program whole = build(with_schedule("1f1b", model, layout));
  for (const Schedule& schedule : schedules()) {
    if (!schedule.splits_backward) {
      continue;
    }
    INFO(schedule.name);
    const Program split = build(with_schedule(schedule.name, model, layout));
    CHECK(all_flops(split, Category::compute) ==
          Approx(all_flops(whole, Category::compute)).epsilon(1e-12));
    double weights = 0;
    for (const Op& op : template_named(split, "backward of weights of 2 layers").ops) {
      weights += op.kind == OpKind::kernel ? flops(at(split.kernels, op.kernel)).value() : 0;
    }
    const double per_layer = 2.0 * 2048 * (4.0 * 1024 * 1024 + 3.0 * 1024 * 3072) / 2;
    CHECK(weights == Approx(2 * per_layer));
  }
}

TEST_CASE("split backward: full recomputation runs in B alone") {
  RunSpec run = with_schedule("zb-h1", jobs::gpt(8, 1024, 8), {.pp = 2, .micro_batches = 4});
  run.training.recompute = Recompute::full;
  const Program program = build(run);
  for (const PassTemplate& t : program.templates) {
    const bool recomputes = std::any_of(t.ops.begin(), t.ops.end(), [](const Op& op) {
      return op.category == Category::recompute;
    });
    CHECK(recomputes == (t.kind == PassKind::backward));
  }
}

TEST_CASE("split backward: gradients are reduced beside the last W of each chunk") {
  for (const std::int64_t zero : {1, 2, 3}) {
    const Program program =
        build(with_schedule("zb-h1", jobs::llama(8, 1024, 3072, 8, 8, 32000),
                            {.pp = 2, .dp = 2, .zero = zero, .micro_batches = 4}));
    for (const RankProgram& rank : program.programs) {
      std::int32_t left = 4;
      for (const Pass& pass : rank.passes) {
        const PassTemplate& t = at(program.templates, pass.pass_template);
        left -= t.kind == PassKind::weight ? 1 : 0;
        const bool reduces = t.name.find("gradients reduced") != std::string::npos;
        CHECK(reduces == (t.kind == PassKind::weight && (zero > 1 || left == 0)));
      }
    }
  }
}

// SP: the slice stored by forward is gathered where it is used, in W.
TEST_CASE("split backward: W gathers the stored slices") {
  const Program program = build(with_schedule("zb-h1", jobs::llama(8, 1024, 3072, 8, 8, 32000),
                                              {.tp = 2, .sp = true, .pp = 2, .micro_batches = 4}));
  std::int64_t gathers = 0;
  for (const Op& op : template_named(program, "backward of weights of 4 layers").ops) {
    gathers += op.layer >= 0 && op.stream == Stream::tp;
  }
  CHECK(gathers == 2 * 4);
}

// Stage i holds parts i and p - 1 - i: every part twice. Their gradients are summed in pairs.
TEST_CASE("split backward: dualpipe holds each part twice and sums both") {
  const RunSpec run = with_schedule("dualpipe", jobs::llama(8, 1024, 3072, 8, 8, 32000),
                                    {.pp = 4, .dp = 2, .zero = 1, .micro_batches = 8});
  const Program program = build(run);
  const std::int64_t layer = 4 * 1024 * 1024 + 3 * 1024 * 3072 + 2 * 1024;
  const std::int64_t ends = 2 * 32000 * 1024 + 1024;
  std::int64_t all = 0;
  for (const RankProgram& rank : program.programs) {
    all += rank.parameters;
  }
  CHECK(all == 2 * (8 * layer + ends));
  CHECK(program.programs[0].parameters == 4 * layer + ends);
  CHECK(program.programs[1].parameters == 4 * layer);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    Bytes bytes{};
    CHECK(of_trigger(program, stage, "mirrored parts", &bytes) == 1);
    CHECK(bytes == Bytes{4 * program.programs[stage].parameters / 2});
    // Each micro batch passes each boundary of the stage once each way: 2 per inner side and
    // direction of flow, with 4 micro batches on either way.
    const Counts counts = communications(program, stage);
    const std::int64_t sides = stage == 0 || stage == 3 ? 1 : 2;
    CHECK(counts.at({Category::pp, Primitive::send}).times == 8 * sides);
    CHECK(counts.at({Category::pp, Primitive::recv}).times == 8 * sides);
  }
}

TEST_CASE("split backward: dualpipe refuses what it cannot run, with what it can") {
  const auto refusal = [](std::int64_t pp, std::int64_t micro_batches) {
    const RunSpec run = with_schedule("dualpipe", jobs::llama(12, 1024, 3072, 8, 8, 32000),
                                      {.pp = pp, .micro_batches = micro_batches});
    const std::vector<Problem> problems = schedule_problems(run);
    return problems.empty() ? std::string() : to_text(problems.at(0));
  };
  CHECK(refusal(3, 12) ==
        "job.json:/training/schedule: dualpipe: 3 stages cannot be paired from both ends; use 2 or "
        "4");
  CHECK(refusal(4, 7).find("7 micro batches do not fill 4 stages") != std::string::npos);
  CHECK(refusal(4, 8).empty());
}

// Every schedule on every small shape: the checker runs on all of them (programs::build).
TEST_CASE("split backward: every schedule builds sound programs") {
  for (const Schedule& schedule : schedules()) {
    for (const std::int64_t pp : {2, 3, 4}) {
      for (const std::int64_t micro_batches : {1, 4, 8}) {
        for (const std::int64_t zero : {0, 3}) {
          for (const bool blocking : {false, true}) {
            RunSpec run = with_schedule(schedule.name, jobs::gpt(24, 1024, 8),
                                        {.tp = 2,
                                         .pp = pp,
                                         .vpp = schedule.name == "interleaved" ? 2 : 1,
                                         .dp = 2,
                                         .zero = zero,
                                         .micro_batches = micro_batches});
            run.training.schedule = schedule.name;
            run.stack.p2p = blocking ? P2pStyle::blocking : P2pStyle::overlapped;
            ScheduleInput input;
            input.stages = static_cast<std::int32_t>(pp);
            input.chunks = static_cast<std::int32_t>(run.parallel.vpp);
            input.micro_batches = static_cast<std::int32_t>(micro_batches);
            if (schedule.objection(input).empty()) {
              INFO(schedule.name << " pp " << pp << " m " << micro_batches << " zero " << zero);
              CHECK(build(run).programs.size() == static_cast<std::size_t>(pp));
            }
          }
        }
      }
    }
  }
}
