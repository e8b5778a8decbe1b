// GPipe (arXiv 1811.06965): all forwards, then all backwards; arXiv 2104.04473 figure 3.
//
//   stage 0  F0 F1 F2 F3 .  .  .  .  B0 B1 B2 B3
//   stage 1  .  F0 F1 F2 F3 .  .  B0 B1 B2 B3
//   stage 2  .  .  F0 F1 F2 F3 B0 B1 B2 B3            (F and B drawn equally long)
//
// Every stage holds the activations of all m micro batches; a step of equal stages without
// communication takes (m + p - 1)(f + b).
#include "workload/schedules/schedules.h"

namespace shardsim {

std::vector<ScheduledPass> gpipe_passes(const ScheduleInput& input) {
  if (input.stages == 1) {  // no pipeline: a schedule has no effect (Megatron: no_pipelining)
    return one_f_one_b_passes(input);
  }
  std::vector<ScheduledPass> passes;
  for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
    for (std::int32_t i = 0; i < input.micro_batches; ++i) {
      passes.push_back({kind, i, 0});
    }
  }
  return passes;
}

}  // namespace shardsim
