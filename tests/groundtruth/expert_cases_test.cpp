// Reported behaviour of mixtures of experts: a hot expert rank.
#include <vector>

#include "commands/simulate.h"
#include "spec/reader.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

RunReport hot(const std::vector<std::string>& overrides) {
  return simulate_all({read_run_text(R"({"model": "mixtral-8x7b", "cluster": "dgx-h100", "gpus": 8,
      "parallel": {"ep": 8}, "batch": {"global": 8, "sequence": 4096}})",
                                     "hot.json", overrides)},
                      {})
      .front();
}

double step(const RunReport& report) { return report.analysis.step_s; }

}  // namespace

// NVIDIA/Megatron-LM PR 7488, issue 1839: everybody waits for the rank whose experts are hot. Its
// expert products take twice as long, a step never twice as long; capacity 1 takes the load away.
TEST_CASE("groundtruth: a hot expert rank slows the step by the experts' share", "[slow]") {
  const RunReport even = hot({});
  const RunReport uneven = hot({"moe.imbalance=2"});
  const RunReport capped = hot({"moe.imbalance=2", "model.moe.capacity_factor=1.0"});
  CHECK(step(uneven) > 1.2 * step(even));
  CHECK(step(uneven) < 2.0 * step(even));
  CHECK(step(capped) == Approx(step(even)).epsilon(1e-3));
  CHECK(uneven.analysis.memory.peak > even.analysis.memory.peak);
}
