// Which passes each stage runs in which order: the run's schedule, with what it leaves open filled
// in.
//
// Searched schedules are told what passes cost: each kernel the longer of its FLOPs at the GPU's
// peak and its bytes at its memory bandwidth; exposed communication inside passes is left out. The
// true kernel times are the platform's, which the workload does not know; the order needs their
// proportions only (arXiv 2401.10241 section 3.1 measures them). A message counts with its bytes at
// the bandwidth of the NIC, or of NVLink where the job fits in one node.
//
// A pair of B and W that a schedule runs as one is one pass here, a backward that is not split.
// A forward that a schedule pairs with the backward after it (dualpipe) is marked where overlap.ep
// asks for it; without, they follow each other.
#pragma once

#include <vector>

#include "base/errors.h"
#include "workload/chunk_pass.h"

namespace shardsim {

struct OrderedPass {
  PassKind kind = PassKind::forward;
  BackwardPart part = BackwardPart::both;
  std::int32_t micro_batch = 0;
  std::int32_t chunk = 0;
  bool with_next = false;  // a forward and the backward after it are one pass, pair_pass.h
  bool operator==(const OrderedPass&) const = default;
};

// What the schedule objects to in the pipeline's shape; empty without a pipeline. A rule for the
// reader (RunRule in spec/run_rule.h).
[[nodiscard]] std::vector<Problem> schedule_problems(const RunSpec& run);

// [stage]. REQUIRES no schedule_problems.
[[nodiscard]] std::vector<std::vector<OrderedPass>> order_passes(
    const RunSpec& run, const ModelChains& chains, const std::vector<std::vector<Chunk>>& chunks);

}  // namespace shardsim
