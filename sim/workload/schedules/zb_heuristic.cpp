#include "workload/schedules/zb_heuristic.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "base/ids.h"
#include "workload/schedules/pipeline_times.h"

namespace shardsim {
namespace {

struct Stage {
  PassCosts costs;
  double now = 0;
  double held = 0;  // activations
  double idle = 0;  // since the first pass
  std::int32_t forwards = 0;
  std::int32_t backwards = 0;
  std::int32_t weights = 0;
  std::vector<double> forward_ends;
  std::vector<double> backward_ends;
  std::vector<ScheduledPass> passes;

  [[nodiscard]] bool weight_waits() const { return weights < backwards; }
};

class Heuristic {
 public:
  Heuristic(const ScheduleInput& input, double limit, ZbChoices choices);
  StagePasses run();

 private:
  [[nodiscard]] Stage& stage(std::int32_t i) { return at(stages_, i); }
  [[nodiscard]] bool fits(double held) const { return held <= limit_ + kZbRounding; }
  double forward_arrival(std::int32_t i);
  double backward_arrival(std::int32_t i);
  void start(Stage& s, double arrival, double cost);
  void forward(std::int32_t i);
  void backward(std::int32_t i);
  void weight(Stage& s);
  void fill_gap(Stage& s, double until);
  void warm_up();
  [[nodiscard]] bool leaves_forward_out(std::int32_t i);
  void forwards_of_round();

  const ScheduleInput& input_;
  double limit_;
  ZbChoices choices_;
  std::vector<Stage> stages_;
  double most_idle_ = 0;
};

Heuristic::Heuristic(const ScheduleInput& input, double limit, ZbChoices choices)
    : input_(input), limit_(limit), choices_(choices) {
  stages_.resize(static_cast<std::size_t>(input.stages));
  for (std::int32_t i = 0; i < input.stages; ++i) {
    stage(i).costs = costs_of(input, i);
    stage(i).passes.reserve(3 * static_cast<std::size_t>(input.micro_batches));
  }
}

double Heuristic::forward_arrival(std::int32_t i) {
  return i == 0 ? 0
                : at(stage(i - 1).forward_ends, stage(i).forwards) + stage(i).costs.communication;
}

double Heuristic::backward_arrival(std::int32_t i) {
  const std::int32_t micro = stage(i).backwards;
  return i + 1 == input_.stages
             ? at(stage(i).forward_ends, micro)
             : at(stage(i + 1).backward_ends, micro) + stage(i).costs.communication;
}

void Heuristic::start(Stage& s, double arrival, double cost) {
  if (s.forwards > 0) {
    s.idle += std::max(0.0, arrival - s.now);
    most_idle_ = std::max(most_idle_, s.idle);
  }
  s.now = std::max(s.now, arrival) + cost;
}

void Heuristic::weight(Stage& s) {
  s.now += s.costs.weight;
  s.held -= input_.weight_share;
  s.passes.push_back({PassKind::weight, s.weights++, 0});
}

// W's until the stage's next message is here.
void Heuristic::fill_gap(Stage& s, double until) {
  while (s.weight_waits() && s.now + s.costs.weight <= until + kZbRounding) {
    weight(s);
  }
  const double gap = until - s.now;
  if (s.weight_waits() && gap > kZbRounding &&
      (choices_.fill_small_gaps || gap > most_idle_ - s.idle)) {
    weight(s);
  }
}

void Heuristic::forward(std::int32_t i) {
  Stage& s = stage(i);
  while (!fits(s.held + 1)) {
    SHARDSIM_CHECK(s.weight_waits(), "a searched schedule cannot make room for a forward");
    weight(s);
  }
  const double arrival = forward_arrival(i);
  fill_gap(s, arrival);
  start(s, arrival, s.costs.forward);
  s.held += 1;
  s.forward_ends.push_back(s.now);
  s.passes.push_back({PassKind::forward, s.forwards++, 0});
}

void Heuristic::backward(std::int32_t i) {
  Stage& s = stage(i);
  const double arrival = backward_arrival(i);
  fill_gap(s, arrival);
  start(s, arrival, s.costs.backward);
  s.held -= 1 - input_.weight_share;
  s.backward_ends.push_back(s.now);
  s.passes.push_back({PassKind::backward, s.backwards++, 0});
}

// One F everywhere, then as many as time and memory allow before the first B comes back; a stage
// stays at least one F ahead of the next.
void Heuristic::warm_up() {
  const std::int32_t p = input_.stages;
  for (std::int32_t i = 0; i < p; ++i) {
    forward(i);
  }
  std::vector<std::int32_t> more(stages_.size(), 0);
  double first_backward = stage(p - 1).now + stage(p - 1).costs.backward;  // its end, below
  for (std::int32_t i = p - 2; i >= 0; --i) {
    const Stage& s = stage(i);
    const double arrival = first_backward + s.costs.communication;
    double now = s.now;
    const auto in_time = [&] {
      return choices_.delay_first_backward ? now < arrival - kZbRounding
                                           : now + s.costs.forward <= arrival + kZbRounding;
    };
    std::int32_t& n = at(more, i);
    while (1 + n < input_.micro_batches && fits(s.held + n + 1) && in_time()) {
      now += s.costs.forward;
      ++n;
    }
    first_backward = std::max(now, arrival) + s.costs.backward;
  }
  for (std::int32_t i = 0; i < p; ++i) {
    if (i > 0 && 1 + at(more, i - 1) < input_.micro_batches) {
      at(more, i) = std::min(at(more, i), std::max(0, at(more, i - 1) - 1));
    }
    for (std::int32_t k = 0; k < at(more, i); ++k) {
      forward(i);
    }
  }
}

bool Heuristic::leaves_forward_out(std::int32_t i) {
  if (!choices_.backward_first || i + 1 == input_.stages ||
      stage(i).forwards < stage(i + 1).forwards + 2) {
    return false;
  }
  const Stage& s = stage(i);
  const Stage& next = stage(i + 1);
  // When the B of this round gets here, at the earliest.
  const double comes = next.now + next.costs.forward + next.costs.backward + s.costs.communication;
  const double too_much = s.held + 1 - limit_;
  const double weights =
      too_much <= kZbRounding ? 0 : std::ceil(too_much / input_.weight_share - kZbRounding);
  const bool in_time = s.now + s.costs.forward + weights * s.costs.weight <= comes;
  return s.now >= comes || (!in_time && comes - s.now <= most_idle_ - s.idle);
}

void Heuristic::forwards_of_round() {
  const std::int32_t p = input_.stages;
  std::vector<bool> wanted(stages_.size());
  bool all_below = true;
  for (std::int32_t i = p - 1; i >= 0; --i) {  // who leaves one out stops all stages before it
    const bool left = stage(i).forwards < input_.micro_batches;
    all_below = all_below && left && !leaves_forward_out(i);
    wanted.at(static_cast<std::size_t>(i)) = all_below;
  }
  for (std::int32_t i = 0; i < p; ++i) {
    if (wanted.at(static_cast<std::size_t>(i))) {
      forward(i);
    }
  }
}

StagePasses Heuristic::run() {
  warm_up();
  for (std::int32_t round = 0; round < input_.micro_batches; ++round) {
    if (round > 0) {
      forwards_of_round();
    }
    for (std::int32_t i = input_.stages - 1; i >= 0; --i) {
      backward(i);
    }
  }
  StagePasses result;
  for (Stage& s : stages_) {
    while (s.weight_waits()) {
      weight(s);
    }
    result.push_back(std::move(s.passes));
  }
  return result;
}

}  // namespace

StagePasses zb_heuristic(const ScheduleInput& input, double limit, ZbChoices choices) {
  return Heuristic(input, limit, choices).run();
}

}  // namespace shardsim
