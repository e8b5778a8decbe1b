// Folded replay = full replay, on random training jobs: every time of every rank, bytes of every
// link, breakdown and critical path.
#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/analysis.h"
#include "random_job.h"
#include "support/catch.h"
#include "support/check_cases.h"

namespace shardsim {
namespace {

using test::perturb;
using test::random_run;
using test::simulate_run;
using test::Simulated;

double worst_time_difference(const Simulated& full, const Simulated& folded) {
  double worst = 0;
  for (std::size_t rank = 0; rank < full.trace.ranks.size(); ++rank) {
    const TraceRank& a = full.trace.ranks[rank];
    const TraceRank& b = at(folded.trace.ranks, folded.folded.class_of_rank[rank]);
    RC_ASSERT(a.end_s.size() == b.end_s.size());
    for (std::size_t i = 0; i < a.end_s.size(); ++i) {
      worst = std::max(
          {worst, std::abs(a.start_s[i] - b.start_s[i]), std::abs(a.end_s[i] - b.end_s[i])});
    }
  }
  return worst / full.trace.step_s;
}

// Bytes over the representative of each class, and over all links of the fabric.
double worst_byte_difference(const Simulated& full, const Simulated& folded) {
  std::map<LinkId, double> bytes;
  double total = 0;
  for (std::size_t i = 0; i < full.trace.links.size(); ++i) {
    bytes[full.folded.links[i].representative] = full.trace.links[i].bytes;
    total += full.trace.links[i].bytes;
  }
  double worst = 0;
  double folded_total = 0;
  for (std::size_t i = 0; i < folded.trace.links.size(); ++i) {
    const TraceLink& link = folded.trace.links[i];
    worst = std::max(worst, std::abs(link.bytes - bytes[folded.folded.links[i].representative]));
    folded_total += link.bytes * link.size;
  }
  return std::max(worst, std::abs(total - folded_total)) / std::max(total, 1.0);
}

double worst_bin_difference(const Breakdown& a, const Breakdown& b) {
  double worst = 0;
  for (std::size_t bin = 0; bin < kBinCount; ++bin) {
    worst = std::max(worst, std::abs(a.seconds[bin] - b.seconds[bin]));
  }
  return worst;
}

void assert_equal(const Simulated& full, const Simulated& folded) {
  RC_ASSERT(worst_time_difference(full, folded) <= 1e-9);
  RC_ASSERT(worst_byte_difference(full, folded) <= 1e-9);
  const double tolerance = 1e-9 * full.trace.step_s;
  RC_ASSERT(std::abs(full.trace.step_s - folded.trace.step_s) <= tolerance);
  RC_ASSERT(worst_bin_difference(step_breakdown(full.trace), step_breakdown(folded.trace)) <=
            tolerance);
  RC_ASSERT(worst_bin_difference(critical_path(full.trace).by_category,
                                 critical_path(folded.trace).by_category) <= tolerance);
}

TEST_CASE("property: folding changes nothing of a training job") {
  REQUIRE(test::check_cases("folded job = full job", 600, [] {
    RunSpec run = random_run();
    perturb(run);
    const auto folded = simulate_run(run, FoldMode::automatic);
    RC_TAG(folded.trace.ranks.size() < static_cast<std::size_t>(run.gpus) ? "folds" : "discrete");
    assert_equal(simulate_run(run, FoldMode::off), folded);
  }));
}

// 1,024 ranks, each event of each of them against 16 classes.
TEST_CASE("property: folding changes nothing of a job of 1,024 GPUs", "[slow]") {
  jobs::Layout layout{.tp = 8, .sp = true, .pp = 16, .dp = 8, .zero = 1, .micro_batches = 16};
  RunSpec run = jobs::job(jobs::llama(32, 16384, 53248, 128, 8, 128256), layout);
  run.cluster = test::dgx_h100_like();
  run.nodes = 128;
  const Simulated full = simulate_run(run, FoldMode::off);
  const Simulated folded = simulate_run(run, FoldMode::automatic);
  CHECK(full.trace.ranks.size() == 1024);
  CHECK(folded.trace.ranks.size() == 16);
  CHECK(worst_time_difference(full, folded) <= 1e-9);
  CHECK(worst_byte_difference(full, folded) <= 1e-9);
  CHECK(worst_bin_difference(step_breakdown(full.trace), step_breakdown(folded.trace)) <=
        1e-9 * full.trace.step_s);
}

}  // namespace
}  // namespace shardsim
