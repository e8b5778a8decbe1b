// A forward and a backward of different micro batches as one pass, each computing under the
// dispatch and combine of the other (DualPipe, arXiv 2412.19437 section 3.2.1, figure 4).
//
// Both passes are cut behind each communication with experts; the sections alternate, spread evenly
// where one pass has more than the other (the backward, if it recomputes). Both begin, and receive,
// before either computes.
//
//   compute  begin begin | F attention | B experts' combine.. | F experts | B experts | F ...
//   ep                                 | dispatch F           | combine B | combine F | ...
// Not modelled: SMs that communication kernels take from both (see overlap_slowdown).
#pragma once

#include "workload/program.h"

namespace shardsim {

[[nodiscard]] PassTemplate pair_pass(const PassTemplate& forward, const PassTemplate& backward);

}  // namespace shardsim
