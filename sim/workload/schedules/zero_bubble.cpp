// The handcrafted zero-bubble schedules ZB-H1 and ZB-H2: Qi et al., Zero Bubble Pipeline
// Parallelism (arXiv 2401.10241), section 2, figures 2 and 3, table 2. The backward is split: B
// hands the gradient on at once, W (weight gradients) waits for where a stage would be idle.
//
// ZB-H1: 1F1B whose W of stage i are late by i micro batches (p 3, m 4; F, B, W equally long):
//   stage 0  F0 F1 F2 .  .  B0 W0 F3 B1 W1 B2 W2 B3 W3
//   stage 1  .  F0 F1 .  B0 F2 B1 W0 F3 B2 W1 B3 W2 W3
//   stage 2  .  .  F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3
// ZB-H2: twice the warm-up and twice as late; each stage is busy without a gap (p 3, m 5):
//   stage 0  F0 F1 F2 F3 F4 B0 W0 B1 W1 B2 W2 B3 W3 B4 W4
//   stage 1  .  F0 F1 F2 B0 F3 B1 F4 B2 W0 B3 W1 B4 W2 W3 W4
//   stage 2  .  .  F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 W0 W1 W2 W3 W4
//
// An activation is held from F to W, in full to B and what W needs of it after: stage i holds p - i
// in full and i in part under ZB-H1, 2(p - i) - 1 and 2i under ZB-H2; at most p and 2p - 1.
// The longest time from a stage's first pass to its last, less its work m(f + b + w), for equal
// stages without communication, w <= f and enough micro batches (p; 2p - 1):
//   ZB-H1  (p - 1)(f + b - w)        ZB-H2  (p - 1)(f + b - 2w), not below 0
// Under ZB-H2 the stages end one after the other, so that only a step end without synchronisation
// (the paper's section 4) turns it into step time; the whole takes up to (p - 1)f longer.
#include <algorithm>

#include "workload/schedules/schedules.h"

namespace shardsim {
namespace {

// `depth` 1: ZB-H1, 2: ZB-H2.
std::vector<ScheduledPass> handcrafted(const ScheduleInput& input, std::int32_t depth) {
  const std::int32_t m = input.micro_batches;
  const std::int32_t warm_up = std::min(m, depth * (input.stages - input.stage - 1));
  const std::int32_t late = std::min(m, depth * input.stage);
  std::vector<ScheduledPass> passes;
  passes.reserve(3 * static_cast<std::size_t>(m));
  for (std::int32_t i = 0; i < warm_up; ++i) {
    passes.push_back({PassKind::forward, i, 0});
  }
  for (std::int32_t i = 0; i < m; ++i) {
    if (warm_up + i < m) {
      passes.push_back({PassKind::forward, warm_up + i, 0});
    }
    passes.push_back({PassKind::backward, i, 0});
    if (i >= late) {
      passes.push_back({PassKind::weight, i - late, 0});
    }
  }
  for (std::int32_t i = m - late; i < m; ++i) {
    passes.push_back({PassKind::weight, i, 0});
  }
  return passes;
}

}  // namespace

std::vector<ScheduledPass> zb_h1_passes(const ScheduleInput& input) {
  return handcrafted(input, 1);
}

std::vector<ScheduledPass> zb_h2_passes(const ScheduleInput& input) {
  return handcrafted(input, 2);
}

}  // namespace shardsim
