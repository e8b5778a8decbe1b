// Every dense layout of up to 16 ranks under every schedule and ZeRO stage: built, statically
// checked (order of collectives, messages that meet, memory that returns, no deadlock), and adding
// up to the model whatever the layout.
#include "sharding/parameters.h"
#include "support/catch.h"
#include "workload/programs.h"
#include "workload/schedule.h"

using namespace shardsim;
using namespace shardsim::programs;

namespace {

// Vocabulary, heads and widths divide by every tp.
ModelSpec small_model(std::int64_t layers) {
  return jobs::llama(layers, 512, 1024, 16, 16, 16 * 128);
}

double flops_of_all_ranks(const Program& program, const RunSpec& run) {
  double sum = 0;
  for (std::size_t stage = 0; stage < program.programs.size(); ++stage) {
    sum += program_flops(program, stage, Category::compute);
  }
  return sum * static_cast<double>(run.parallel.tp * run.parallel.dp);
}

bool can_run(const Schedule& schedule, const RunSpec& run) {
  ScheduleInput input;
  input.stages = static_cast<std::int32_t>(run.parallel.pp);
  input.chunks = static_cast<std::int32_t>(run.parallel.vpp);
  input.micro_batches = static_cast<std::int32_t>(run.batch.micro_batches);
  return run.parallel.pp == 1 || schedule.objection(input).empty();
}

// Each rank of a tp group has its own norms; all else is cut. Two copies under dualpipe.
std::int64_t expected_parameters(const RunSpec& run, bool twice) {
  const std::int64_t norms = (2 * run.model.layers + 1) * run.model.hidden;
  const std::int64_t once = count_parameters(run.model).total + (run.parallel.tp - 1) * norms;
  return twice ? 2 * once : once;
}

void check_world(const Schedule& schedule, std::int64_t tp, std::int64_t dp, std::int64_t pp,
                 int& built) {
  const std::int64_t vpp = schedule.name == "interleaved" && pp > 1 ? 2 : 1;
  for (std::int64_t zero = 0; zero <= (dp > 1 ? 3 : 0); ++zero) {
    for (const bool sp : {false, true}) {
      RunSpec run = jobs::job(small_model(4 * pp), {.tp = tp,
                                                    .sp = sp && tp > 1,
                                                    .pp = pp,
                                                    .vpp = vpp,
                                                    .dp = dp,
                                                    .zero = zero,
                                                    .micro_batches = 2 * pp,
                                                    .sequence = 128});
      run.training.schedule = schedule.name;
      run.parallel.zero_group = zero > 0 && sp && dp % 2 == 0 ? dp / 2 : dp;
      if ((sp && tp == 1 && zero == 0) || !can_run(schedule, run)) {
        continue;
      }
      INFO(schedule.name << " tp " << tp << " sp " << sp << " dp " << dp << " pp " << pp << " zero "
                         << zero);
      const Program program = build(run);
      RunSpec alone = run;
      alone.parallel = {};
      alone.batch.micro_batches = run.batch.micro_batches * dp;
      REQUIRE(flops_of_all_ranks(program, run) ==
              Approx(flops_of_all_ranks(build(alone), alone)).epsilon(1e-12));
      std::int64_t parameters = 0;
      for (const RankProgram& rank : program.programs) {
        parameters += rank.parameters * tp;
      }
      REQUIRE(parameters == expected_parameters(run, pp > 1 && schedule.bidirectional));
      ++built;
    }
  }
}

}  // namespace

TEST_CASE("small worlds: every layout under every schedule is sound and adds up") {
  int built = 0;
  for (const Schedule& schedule : schedules()) {
    for (std::int64_t tp = 1; tp <= 16; tp *= 2) {
      for (std::int64_t dp = 1; tp * dp <= 16; ++dp) {
        for (std::int64_t pp = 1; tp * dp * pp <= 16; ++pp) {
          if (pp == 1 && schedule.name != "1f1b") {
            continue;  // no schedule without a pipeline
          }
          check_world(schedule, tp, dp, pp, built);
        }
      }
    }
  }
  CHECK(built > 1000);
}
