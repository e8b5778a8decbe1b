// The weights of a model chunk, in the units in which their gradients are reduced and, under ZeRO 3,
// the weights themselves are gathered.
#pragma once

#include "workload/chain_pass.h"
#include "workload/chunks.h"
#include "workload/gradient_sync.h"
#include "workload/sharded_units.h"

namespace shardsim {

// In the order in which backward completes them.
[[nodiscard]] GradientUnits gradient_units(const ModelChains& chains, const Chunk& chunk);
[[nodiscard]] LocalParameters chunk_parameters(const ModelChains& chains, const Chunk& chunk);
[[nodiscard]] LocalParameters stage_parameters(const ModelChains& chains,
                                               const std::vector<Chunk>& chunks);

// Under ZeRO 3: embedding, layers and head in the order in which a pass enters them.
[[nodiscard]] std::vector<UnitSegment> forward_segments(const RunSpec& run, const Chunk& chunk);
// As backward_layers walks, groups recomputed first.
[[nodiscard]] std::vector<UnitSegment> backward_segments(const RunSpec& run, const Chunk& chunk,
                                                         BackwardPart part);
// Without ZeRO 3 there are no units, and nothing is gathered.
[[nodiscard]] ShardedUnits sharded_units(const RunSpec& run, const ModelChains& chains,
                                         const Chunk& chunk, std::vector<UnitSegment> segments,
                                         PassSync sync);

}  // namespace shardsim
