// Writes the coalesced template of one rank class: chains as parts, everything else as it was.
//
// A chain becomes consecutive parts, cut at each moment (*exit*) at which something outside it may
// start because of it: a free operation or another chain waits for an operation that ends then, or
// it is the last one on its stream. The parts that cover the chain's stretch of the compute stream
// stand on that stream; parts before and after it (a collective in flight when the last kernel has
// ended) stand on no stream and only pass on the time. An exit names the operation that ends there,
// so that an analysis can follow the DAG and not the stream.
//
//   kernel 0-2, all_reduce 2-3, kernel 3-5 with a gradient bucket waiting for the first kernel:
//   parts [0, 2] [2, 5], both on the compute stream; the bucket depends on the first
#pragma once

#include <optional>
#include <vector>

#include "fold/lockstep.h"

namespace shardsim {

struct CoalescedTemplate {
  LoweredTemplate from{};          // LoweredOp::part indexes `parts`
  std::vector<ChainPart> parts{};  // chain as numbered by the placement
};

// Chains of one operation stay as they are. Empty when no order of enqueueing keeps all streams
// first in, first out.
[[nodiscard]] std::optional<CoalescedTemplate> write_parts(const Domain& domain, std::int32_t rank,
                                                           const LoweredTemplate& from,
                                                           const Waits& waits,
                                                           const Placement& placement,
                                                           const std::vector<std::uint8_t>& merged);

// Per chain: whether it holds more than one operation of the domain.
[[nodiscard]] std::vector<std::uint8_t> merged_chains(const Placement& placement);

}  // namespace shardsim
