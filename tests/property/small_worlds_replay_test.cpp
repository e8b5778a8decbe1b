// A seeded thousand of the worlds of up to 16 ranks, any mix of axes, schedules, ZeRO stages and
// recompute, dense or with experts: checked, replayed to the end, each second in one bin.
#include "analysis/analysis.h"
#include "random_job.h"
#include "support/catch.h"
#include "support/check_cases.h"
#include "workload/check_program.h"

namespace shardsim {
namespace {

TEST_CASE("property: a thousand small worlds are sound and end", "[slow]") {
  CHECK(test::check_cases("small worlds are replayed to their end", 1000, [] {
    const RunSpec run = test::random_run(16);
    const RankGrid grid(run.parallel);
    const Program program = build_program(run, grid);
    check_program(program, grid);
    const Trace trace = test::simulate_program(program, run, FoldMode::automatic).trace;
    const Breakdown bins = step_breakdown(trace);
    double sum = 0;
    for (std::size_t bin = 0; bin < kBinCount; ++bin) {
      sum += bins[static_cast<Bin>(bin)];
    }
    RC_ASSERT(trace.step_s > 0);
    RC_ASSERT(std::abs(sum - trace.step_s) <= 1e-9 * trace.step_s);
  }));
}

}  // namespace
}  // namespace shardsim
