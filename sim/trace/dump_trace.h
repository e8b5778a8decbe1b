// A Trace as text, one line per item, deterministic: what `shardsim dump trace` prints.
//
//   step 18.130000000000 s ranks 64 classes 1 timers 120 flows 40
//   class 0 rank 0 size 64 program 0 stage 0
//     pass 3 F c0 micro batch 2 chunk 0
//       op 17 [0.012000000000, 0.013500000000] tp tp "attention out" layer 0 lane 1 33554432 B
//   lane 3 size 8 hop latency 2e-06 s pace alone 3.6e+11 B/s members 0.1 1.1
#pragma once

#include <string>

#include "trace/trace.h"

namespace shardsim {

[[nodiscard]] std::string dump_trace(const Trace& trace);

}  // namespace shardsim
