// The searched zero-bubble schedules ZB-1p and ZB-2p: Qi et al., Zero Bubble Pipeline Parallelism
// (arXiv 2401.10241), section 3.1, its heuristic; no integer program follows, as there.
//
// Stages are filled in rounds: in round k each stage, from the first to the last, runs one more F
// if it may, then each, from the last to the first, B of micro batch k. W is put where a stage
// would wait, or where the memory limit asks for room. Three choices (zb_heuristic.h) are open and
// all eight combinations are tried. What they give competes with ZB-H1, ZB-H2 and 1F1B, so that it
// is never longer than those of them that keep within the limit; ZB-2p competes with ZB-1p too.
//
// Shortest is: the longest time from a stage's first to its last pass (the paper's measure: the
// step time if steps follow each other without synchronisation), then the end of the whole.
//
// How much of an activation W needs (ScheduleInput::weight_share) decides what ZB-2p can do: on the
// paper's 1.5B model 8 stages and 24 micro batches idle 4.3 % with their 0.37, 10.2 % with 1.
// All stages of p 16, m 512 take about 3 ms (ZB-1p) and 9 ms (ZB-2p): ask for all of them at once.
//
//   p 2, m 3, f 1, b 2, w 1 (B-- is twice as long):
//   zb-1p  stage 0  F0 F1 .  .  B0-- W0 F2 B1-- W1 B2-- W2      limit 2: F2 waits for W0
//          stage 1  .  F0 B0-- F1 B1-- W0 F2 B2-- W1 W2
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "base/ids.h"
#include "workload/schedules/pipeline_times.h"
#include "workload/schedules/schedules.h"
#include "workload/schedules/zb_heuristic.h"

namespace shardsim {
namespace {

class Shortest {
 public:
  Shortest(const ScheduleInput& input, double limit) : input_(input), limit_(limit) {}
  void offer(StagePasses stages);
  [[nodiscard]] StagePasses take() { return std::move(best_); }

 private:
  const ScheduleInput& input_;
  double limit_;
  std::optional<PipelineTimes> times_;
  StagePasses best_;
};

void Shortest::offer(StagePasses stages) {
  for (const std::vector<ScheduledPass>& passes : stages) {
    if (peak_activations(passes, input_.weight_share) > limit_ + kZbRounding) {
      return;
    }
  }
  const PipelineTimes times = pipeline_times(stages, input_);
  const double sooner = kZbRounding * times.longest_stage;
  if (!times_ || times.longest_stage < times_->longest_stage - sooner ||
      (times.longest_stage <= times_->longest_stage + sooner && times.end < times_->end - sooner)) {
    times_ = times;
    best_ = std::move(stages);
  }
}

// 1F1B with each W right behind its B.
std::vector<ScheduledPass> split_1f1b(const ScheduleInput& input) {
  std::vector<ScheduledPass> passes;
  for (const ScheduledPass& pass : one_f_one_b_passes(input)) {
    passes.push_back(pass);
    if (pass.kind == PassKind::backward) {
      passes.push_back({PassKind::weight, pass.micro_batch, 0});
    }
  }
  return passes;
}

void offer_all(Shortest& shortest, const ScheduleInput& input, double limit) {
  for (const bool delay : {false, true}) {
    for (const bool backward_first : {false, true}) {
      for (const bool fill : {false, true}) {
        shortest.offer(zb_heuristic(input, limit, {delay, backward_first, fill}));
      }
    }
  }
}

StagePasses search(const ScheduleInput& input, std::int32_t factor) {
  SHARDSIM_CHECK(input.stage_costs.empty() || count(input.stage_costs) == input.stages,
                 "stage_costs has not one entry per stage");
  const double once = input.stages;
  const double given = input.memory_limit > 0 ? input.memory_limit : once * factor;
  const double limit = std::min(given, once * factor);
  Shortest shortest(input, limit);
  StagePasses handcrafted[3];
  ScheduleInput one = input;
  for (one.stage = 0; one.stage < one.stages; ++one.stage) {
    handcrafted[0].push_back(split_1f1b(one));
    handcrafted[1].push_back(zb_h1_passes(one));
    handcrafted[2].push_back(zb_h2_passes(one));
  }
  for (StagePasses& stages : handcrafted) {
    shortest.offer(std::move(stages));
  }
  offer_all(shortest, input, limit);
  if (limit > once) {
    offer_all(shortest, input, once);
  }
  return shortest.take();
}

}  // namespace

StagePasses zb_1p_stages(const ScheduleInput& input) { return search(input, 1); }
StagePasses zb_2p_stages(const ScheduleInput& input) { return search(input, 2); }

std::vector<ScheduledPass> zb_1p_passes(const ScheduleInput& input) {
  const StagePasses stages = zb_1p_stages(input);
  return at(stages, input.stage);
}

std::vector<ScheduledPass> zb_2p_passes(const ScheduleInput& input) {
  const StagePasses stages = zb_2p_stages(input);
  return at(stages, input.stage);
}

std::string zb_search_objection(const ScheduleInput& input) {
  const std::string chunks = one_chunk_objection(input);
  if (!chunks.empty() || input.memory_limit <= 0 || input.memory_limit >= 1) {
    return chunks;
  }
  return fmt::format("a memory limit of {} activations holds not even one; use 1 or more",
                     input.memory_limit);
}

}  // namespace shardsim
