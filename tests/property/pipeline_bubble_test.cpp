// Bubbles of whole training jobs through the program builder, lowering and replay, against closed
// forms: equal stages, communication and host without cost, next to no vocabulary.
#include <map>

#include "base/ids.h"
#include "random_job.h"
#include "support/catch.h"
#include "workload/schedule.h"

namespace shardsim {
namespace {

// Four layers a chunk; F : B : W is what the kernels of a GPT layer make it.
RunSpec pipeline_job(const std::string& schedule, std::int64_t pp, std::int64_t vpp,
                     std::int64_t micro_batches) {
  ModelSpec model = jobs::gpt(4 * pp * vpp, 2048, 16);
  model.vocab = 128;
  model.tied_embeddings = false;
  model.position = Position::none;
  RunSpec run =
      jobs::job(model, {.pp = pp, .vpp = vpp, .micro_batches = micro_batches, .micro = 4});
  run.training.schedule = schedule;
  run.cluster = test::dgx_h100_like();
  run.cluster.gpu = test::round_gpu();
  run.cluster.gpu.host_time_per_kernel = Seconds{};
  run.cluster.fabric.hop_latency = Seconds{};
  run.cluster.node.nvlink = {BytesPerSecond{1e24}, 1.0, Seconds{}};
  run.nodes = 1;
  return run;
}

struct Measured {
  std::map<PassKind, double> seconds;  // of one pass on a middle stage; backward may be both parts
  double whole = 0;                    // to the end of the last pass of any stage
  double longest_stage = 0;            // from a stage's first pass to the end of its last
};

Measured measure(const RunSpec& run) {
  const Trace trace = test::simulate_run(run, FoldMode::automatic).trace;
  Measured result;
  for (const TraceRank& rank : trace.ranks) {
    const TraceProgram& program = at(trace.programs, rank.program);
    double first = 1e300;
    double last = 0;
    for (const TracePass& pass : program.passes) {
      const TraceTemplate& t = at(trace.templates, pass.pass_template);
      if (t.kind == PassKind::step_end) {
        continue;
      }
      double busy = 0;
      for (std::int32_t i = 0; i < count(t.ops); ++i) {
        if (at(t.ops, i).stream == Stream::compute) {
          first = std::min(first, at(rank.start_s, pass.first_op + i) +
                                      (at(t.ops, i).duration_s > 0 ? 0 : 1e300));
          last = std::max(last, at(rank.end_s, pass.first_op + i));
          busy += at(t.ops, i).duration_s;
        }
      }
      if (t.name.find("head") == std::string::npos && t.name.find("embed") == std::string::npos) {
        result.seconds[t.kind] = busy;
      }
    }
    result.whole = std::max(result.whole, last);
    result.longest_stage = std::max(result.longest_stage, last - first);
  }
  return result;
}

// Embedding, head and loss of 128 words are some thousandths of a stage.
bool about(double a, double b) { return std::abs(a - b) <= 0.01 * b; }

TEST_CASE("property: jobs of gpipe and 1f1b idle (p - 1)(f + b)") {
  for (const std::string schedule : {"gpipe", "1f1b"}) {
    for (const auto& [p, m] : {std::pair{3, 3}, {4, 6}, {6, 3}}) {
      const Measured run = measure(pipeline_job(schedule, p, 1, m));
      // 6 stages, 3 micro batches: 5 of 8 slots idle, 62.5 % of the pipeline's time.
      const double both = run.seconds.at(PassKind::forward) + run.seconds.at(PassKind::backward);
      INFO(schedule << " p " << p << " m " << m);
      CHECK(about(run.whole, (m + p - 1) * both));
    }
  }
}

TEST_CASE("property: jobs of interleaved idle (p - 1)(f + b) of one chunk") {
  for (const auto& [p, v, m] : {std::tuple{2, 2, 4}, {4, 3, 8}}) {
    const Measured run = measure(pipeline_job("interleaved", p, v, m));
    const double both = run.seconds.at(PassKind::forward) + run.seconds.at(PassKind::backward);
    CHECK(about(run.whole, (m * v + p - 1) * both));
  }
}

// Qi et al., arXiv 2401.10241 table 2: ZB-H1 idles (p - 1)(f + b - w), ZB-H2 (p - 1)(f + b - 2w),
// measured from a stage's first pass to its last. The forms hold for b >= w and w <= f.
TEST_CASE("property: jobs of zb-h1 and zb-h2 idle as published") {
  for (const auto& [p, m] : {std::pair{3, 9}, {4, 12}}) {
    for (const std::string schedule : {"zb-h1", "zb-h2"}) {
      const Measured run = measure(pipeline_job(schedule, p, 1, m));
      const double f = run.seconds.at(PassKind::forward);
      const double b = run.seconds.at(PassKind::backward);
      const double w = run.seconds.at(PassKind::weight);
      INFO(schedule << " p " << p << " m " << m << " f " << f << " b " << b << " w " << w);
      const double idle = schedule == "zb-h1" ? f + b - w : f + b - 2 * w;
      CHECK(about(run.longest_stage, m * (f + b + w) + (p - 1) * idle));
    }
  }
}

// Searched: never longer than the ones written by hand, within the same memory.
TEST_CASE("property: jobs of zb-1p and zb-2p are no longer than zb-h1 and zb-h2") {
  for (const auto& [p, m] : {std::pair{3, 9}, {4, 12}}) {
    const double h1 = measure(pipeline_job("zb-h1", p, 1, m)).longest_stage;
    const double h2 = measure(pipeline_job("zb-h2", p, 1, m)).longest_stage;
    CHECK(measure(pipeline_job("zb-1p", p, 1, m)).longest_stage <= 1.01 * h1);
    CHECK(measure(pipeline_job("zb-2p", p, 1, m)).longest_stage <= 1.01 * h2);
  }
}

// DeepSeek-V3, arXiv 2412.19437 table 2: (p/2 - 1)(f&b + b - 3w), b the whole backward, f&b a
// forward and a backward woven into one pass: f + b where nothing overlaps. It assumes f = b - w >=
// w: memory and attention cost nothing here, so that a product's three passes take equally long.
// Without overlap.ep nothing is woven, the forward half sends before its backward half begins, and
// each of the p/2 - 1 waits is one f shorter.
TEST_CASE("property: jobs of dualpipe idle as published") {
  for (const auto& [p, m] : {std::pair{4, 8}, {4, 12}, {6, 12}, {6, 20}, {8, 16}}) {
    RunSpec job = pipeline_job("dualpipe", p, 1, m);
    job.cluster.gpu.memory_bandwidth = BytesPerSecond{1e24};
    job.batch.sequence = 64;
    const double f = measure(job).seconds.at(PassKind::forward);
    INFO("p " << p << " m " << m << " f " << f);
    const double woven = (p / 2 - 1) * (3 * f + 2 * f - 3 * f);
    const double apart = woven - (p / 2 - 1) * f;
    CHECK(about(measure(job).whole, 3 * m * f + apart));
  }
}

}  // namespace
}  // namespace shardsim
