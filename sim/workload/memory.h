// Activation memory that a rank holds over the step: a walk over its passes in program order.
//
// Bytes are taken when an operation starts and given back when one ends, in the order in which the
// operations are enqueued, which on the compute stream is the order in which they run. Cost: each
// template is walked once, then one addition per pass.
//
//   passes F0 F1 B0 B1, each F takes 10 B, each B takes 2 B and gives back 12 B:
//   live after each pass 10 20 10 0, peak 22 in B0
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "workload/program.h"

namespace shardsim {

struct ActivationPeak {
  Bytes peak{};           // most bytes alive at once
  std::int32_t pass = 0;  // where it is first reached: index in RankProgram::passes
  std::int32_t op = -1;   // operation of that pass, -1 = before its first (nothing is ever alive)
  Bytes at_end{};         // alive after the last pass; a checked program has none
};
[[nodiscard]] ActivationPeak activation_peak(const Program& program, const RankProgram& rank);

// What is alive at the peak, by tensor: labels of the program and bytes, largest first; they sum to
// the peak.
struct HeldTensor {
  std::int32_t label = 0;
  Bytes bytes{};
  bool operator==(const HeldTensor&) const = default;
};
[[nodiscard]] std::vector<HeldTensor> held_at_peak(const Program& program, const RankProgram& rank,
                                                   const ActivationPeak& peak);

// Live activation bytes during each pass of a rank: at its worst, and when it ends.
struct PassActivations {
  Bytes peak{};
  Bytes at_end{};
  bool operator==(const PassActivations&) const = default;
};
[[nodiscard]] std::vector<PassActivations> activations_over_passes(const Program& program,
                                                                   const RankProgram& rank);

}  // namespace shardsim
