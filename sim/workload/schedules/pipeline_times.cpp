#include "workload/schedules/pipeline_times.h"

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

struct StageState {
  PassCosts costs;
  std::size_t next = 0;
  double now = 0;
  double start = 0;
  std::vector<double>
      forward_ends;  // in the order of micro batches, as all schedules here run them
  std::vector<double> backward_ends;
};

std::optional<double> end_of(const std::vector<double>& ends, std::int32_t micro_batch) {
  return micro_batch < count(ends) ? std::optional(at(ends, micro_batch)) : std::nullopt;
}

// When what `pass` needs is there; nullopt: not yet known.
std::optional<double> ready_at(const std::vector<StageState>& states, std::int32_t stage,
                               const ScheduledPass& pass) {
  const StageState& here = at(states, stage);
  if (pass.kind == PassKind::weight) {
    return end_of(here.backward_ends, pass.micro_batch);
  }
  const bool forward = pass.kind == PassKind::forward;
  if (forward && stage == 0) {
    return 0.0;
  }
  if (!forward && stage + 1 == count(states)) {
    return end_of(here.forward_ends, pass.micro_batch);
  }
  const StageState& from = at(states, stage + (forward ? -1 : 1));
  const std::optional<double> sent =
      end_of(forward ? from.forward_ends : from.backward_ends, pass.micro_batch);
  return sent ? std::optional(*sent + here.costs.communication) : std::nullopt;
}

void run(StageState& stage, const ScheduledPass& pass, double ready) {
  const double start = std::max(stage.now, ready);
  const bool forward = pass.kind == PassKind::forward;
  const bool weight = pass.kind == PassKind::weight;
  if (stage.next == 0) {
    stage.start = start;
  }
  ++stage.next;
  stage.now = start + (forward  ? stage.costs.forward
                       : weight ? stage.costs.weight
                                : stage.costs.backward);
  if (!weight) {
    (forward ? stage.forward_ends : stage.backward_ends).push_back(stage.now);
  }
}

}  // namespace

PassCosts costs_of(const ScheduleInput& input, std::int32_t stage) {
  return input.stage_costs.empty() ? input.costs : at(input.stage_costs, stage);
}

PipelineTimes pipeline_times(const StagePasses& stages, const ScheduleInput& input) {
  std::vector<StageState> states(stages.size());
  for (std::int32_t i = 0; i < count(states); ++i) {
    at(states, i).costs = costs_of(input, i);
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int32_t i = 0; i < count(stages); ++i) {
      StageState& state = at(states, i);
      while (state.next < at(stages, i).size()) {
        const ScheduledPass& pass = at(stages, i)[state.next];
        const std::optional<double> ready = ready_at(states, i, pass);
        if (!ready) {
          break;
        }
        run(state, pass, *ready);
        moved = true;
      }
    }
  }
  PipelineTimes times;
  for (std::int32_t i = 0; i < count(stages); ++i) {
    const StageState& state = at(states, i);
    SHARDSIM_CHECK(state.next == at(stages, i).size(), "the stages of a schedule wait for ever");
    times.longest_stage = std::max(times.longest_stage, state.now - state.start);
    times.end = std::max(times.end, state.now);
  }
  return times;
}

double peak_activations(const std::vector<ScheduledPass>& passes, double weight_share) {
  double held = 0;
  double most = 0;
  for (const ScheduledPass& pass : passes) {
    held += pass.kind == PassKind::forward    ? 1
            : pass.kind == PassKind::backward ? weight_share - 1
                                              : -weight_share;
    most = std::max(most, held);
  }
  return most;
}

}  // namespace shardsim
