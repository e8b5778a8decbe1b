// Interleaved 1F1B (arXiv 2104.04473 section 2.2.2): Megatron's
// forward_backward_pipelining_with_interleaving (core/pipeline_parallel/schedules.py).
//
// Each stage holds v chunks. Forwards go in groups of p micro batches: the group through chunk 0,
// then through chunk 1, ...; backwards the same with the chunks reversed. Warm-up of stage i:
// 2(p - i - 1) + (v - 1)p forwards; then one forward, one backward in turn; then the rest.
//
//   p 2, v 2, m 4 (capitals: chunk 1; F forward, B backward; digits: micro batch)
//   stage 0  f0 f1 F0 F1 f2 B0 f3 B1 F2 b0 F3 b1 .  B2 .  B3 b2 b3
//   stage 1  .  f0 f1 F0 B0 F1 B1 f2 b0 f3 b1 F2 B2 F3 B3 b2 b3
//
// The first stage holds at most pv + p - 1 chunk activations, that is those of L(1 + (p - 1)/(pv))
// layers (arXiv 2205.05198 section 4.2.3). A step of equal stages without communication takes
// (m + (p - 1)/v)(f + b), f and b of a whole stage; m is a multiple of p, as Megatron requires.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "workload/schedules/schedules.h"

namespace shardsim {

std::vector<ScheduledPass> interleaved_passes(const ScheduleInput& input) {
  const std::int32_t v = input.chunks;
  const std::int32_t p = input.stages;
  if (v == 1) {  // Megatron runs plain 1F1B then
    return one_f_one_b_passes(input);
  }
  const std::int32_t total = input.micro_batches * v;
  const std::int32_t warm_up = std::min(total, 2 * (p - input.stage - 1) + (v - 1) * p);
  // The k-th forward and the k-th backward of a stage, whatever the stage.
  const auto nth = [&](PassKind kind, std::int32_t k) {
    const std::int32_t chunk = k / p % v;
    return ScheduledPass{kind, k / (p * v) * p + k % p,
                         kind == PassKind::forward ? chunk : v - 1 - chunk};
  };
  std::vector<ScheduledPass> passes;
  for (std::int32_t k = 0; k < warm_up; ++k) {
    passes.push_back(nth(PassKind::forward, k));
  }
  for (std::int32_t k = warm_up; k < total; ++k) {
    passes.push_back(nth(PassKind::forward, k));
    passes.push_back(nth(PassKind::backward, k - warm_up));
  }
  for (std::int32_t k = total - warm_up; k < total; ++k) {
    passes.push_back(nth(PassKind::backward, k));
  }
  return passes;
}

std::string interleaved_objection(const ScheduleInput& input) {
  const std::int32_t m = input.micro_batches;
  const std::int32_t p = input.stages;
  if (input.chunks == 1 || m % p == 0) {
    return "";
  }
  const std::int32_t below = m / p * p;
  return fmt::format("{} {} not a multiple of the {}; use {}{} or schedule 1f1b with vpp 1",
                     counted(m, "micro batch"), is_or_are(m), counted(p, "stage"),
                     below > 0 ? fmt::format("{} or ", below) : "", below + p);
}

}  // namespace shardsim
