// Every layout of up to 16 ranks, dense and with experts, under every schedule: built, statically
// checked (order of collectives, messages that meet, memory that returns, no deadlock), and adding
// up to the model whatever the layout.
#include "sharding/moe.h"
#include "sharding/parameters.h"
#include "sharding/rank_grid.h"
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

// Experts, shared experts, a leading dense layer and one layer of multi-token prediction.
ModelSpec small_moe_model(std::int64_t layers) {
  ModelSpec model = jobs::llama(layers, 128, 256, 16, 16, 16 * 128);
  model.mtp_layers = 1;
  model.moe.emplace();
  model.moe->experts = 16;
  model.moe->top_k = 4;
  model.moe->expert_ffn = 64;
  model.moe->shared_ffn = 64;
  model.moe->first_dense = 1;
  return model;
}

double flops_per_rank_sum(const Program& program) {
  double sum = 0;
  for (std::size_t rank = 0; rank < program.program_of_rank.size(); ++rank) {
    sum += program_flops(program, static_cast<std::size_t>(program.program_of_rank[rank]),
                         Category::compute);
  }
  return sum;
}

struct Degrees {
  std::int64_t tp, cp, dp, pp, ep, etp;
};

// The same sequences on one rank.
double flops_alone(const RunSpec& run) {
  RunSpec alone = run;
  alone.parallel = {};
  alone.training.overlap.ep = false;
  alone.batch.micro_batches = run.batch.micro_batches * run.parallel.dp;
  return flops_per_rank_sum(build(alone));
}

// Causal blocks of a ring are whole squares and triangles: their sum is the whole triangle.
void check_moe_world(const Schedule& schedule, const Degrees& d, int& built) {
  const std::int64_t vpp = schedule.name == "interleaved" && d.pp > 1 ? 2 : 1;
  RunSpec run = jobs::job(small_moe_model(2 * d.pp), {.tp = d.tp,
                                                      .sp = d.tp > 1,
                                                      .cp = d.cp,
                                                      .pp = d.pp,
                                                      .vpp = vpp,
                                                      .dp = d.dp,
                                                      .zero = 1,
                                                      .micro_batches = 2 * d.pp,
                                                      .sequence = 512});
  run.training.schedule = schedule.name;
  run.parallel.ep = d.ep;
  run.parallel.etp = d.etp;
  run.training.overlap.ep = d.ep > 1;
  run.moe.dispatcher = d.etp == 1 ? Dispatcher::deepep : Dispatcher::alltoall;
  if (!can_run(schedule, run) || !grids_agree(run.parallel)) {
    return;
  }
  INFO(schedule.name << " tp " << d.tp << " cp " << d.cp << " dp " << d.dp << " pp " << d.pp
                     << " ep " << d.ep << " etp " << d.etp);
  REQUIRE(flops_per_rank_sum(build(run)) == Approx(flops_alone(run)).epsilon(1e-9));
  ++built;
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

TEST_CASE("small worlds: every grid of experts under every schedule is sound and adds up",
          "[slow]") {
  int built = 0;
  for (const Schedule& schedule : schedules()) {
    for (std::int64_t tp = 1; tp <= 4; tp *= 2) {
      for (std::int64_t cp = 1; tp * cp <= 16; cp *= 2) {
        for (std::int64_t dp = 1; tp * cp * dp <= 16; dp *= 2) {
          for (std::int64_t pp = 1; tp * cp * dp * pp <= 16; pp *= 2) {
            for (std::int64_t ep = 1; ep <= tp * cp * dp; ep *= 2) {
              for (const std::int64_t etp : {std::int64_t{1}, tp}) {
                const bool fits = ep * etp <= tp * cp * dp && (etp == 1 || tp > 1);
                if (fits && (pp > 1 || schedule.name == "1f1b")) {
                  check_moe_world(schedule, {tp, cp, dp, pp, ep, etp}, built);
                }
              }
            }
          }
        }
      }
    }
  }
  CHECK(built > 500);
}
