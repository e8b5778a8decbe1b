// 1F1B with flush (PipeDream-Flush; arXiv 2104.04473 section 2.2.1): Megatron's
// forward_backward_pipelining_without_interleaving (core/pipeline_parallel/schedules.py).
//
//   stage 0  F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3
//   stage 1  .  F0 F1 .  B0 F2 B1 F3 B2 .  B3
//   stage 2  .  .  F0 B0 F1 B1 F2 B2 F3 B3            (F and B drawn equally long)
//
// Warm-up of stage i: p - i - 1 forwards; then one forward, one backward in turn; then the
// backwards that are left. Stage i holds the activations of min(m, p - i) micro batches; a step of
// equal stages without communication takes (m + p - 1)(f + b).
#include <algorithm>

#include "workload/schedules/schedules.h"

namespace shardsim {

std::vector<ScheduledPass> one_f_one_b_passes(const ScheduleInput& input) {
  const std::int32_t m = input.micro_batches;
  const std::int32_t warm_up = std::min(m, input.stages - input.stage - 1);
  std::vector<ScheduledPass> passes;
  for (std::int32_t i = 0; i < warm_up; ++i) {
    passes.push_back({PassKind::forward, i, 0});
  }
  for (std::int32_t i = warm_up; i < m; ++i) {
    passes.push_back({PassKind::forward, i, 0});
    passes.push_back({PassKind::backward, i - warm_up, 0});
  }
  for (std::int32_t i = m - warm_up; i < m; ++i) {
    passes.push_back({PassKind::backward, i, 0});
  }
  return passes;
}

std::string one_chunk_objection(const ScheduleInput& input) {
  return input.chunks == 1 ? "" : "it has one chunk per stage; use vpp 1 or schedule interleaved";
}

}  // namespace shardsim
