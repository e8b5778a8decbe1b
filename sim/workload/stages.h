// Which layers each pipeline stage holds: RunSpec -> layer counts per stage and chunk.
//
// Megatron's interleaving: the model is cut into pp * vpp *model chunks* in layer order; chunk c of
// stage i is model chunk c * pp + i. By default the cut is even; `count_embedding_as_layer` and
// `count_loss_as_layer` count the embedding and the loss as one layer each of the first and last
// model chunk (megatron/core/transformer/transformer_block.py, get_num_layers_to_build);
// `layers_per_stage` states pp counts, each split evenly over the stage's chunks, or pp * vpp
// counts in model chunk order; `layout` is Megatron's string (spec/layout_string.h). Invariants:
// counts sum to the model's layers; only the first and the last model chunk may hold none.
//
//   12 layers, pp 2, vpp 3: stage 0 holds {2,2,2}, first layers {0,4,8}; stage 1 {2,2,2}, {2,6,10}
//   30 layers, pp 4, embedding and loss counted: {7} {8} {8} {7}
#pragma once

#include <cstdint>
#include <vector>

#include "spec/run_spec.h"

namespace shardsim {

using ChunkCounts = std::vector<std::vector<std::int64_t>>;  // [stage][chunk]

// Layers of each chunk. REQUIRES layers that can be placed (spec/validate_pipeline.cpp); else
// InternalError.
[[nodiscard]] ChunkCounts layers_of_chunks(const RunSpec& run);
// Index in the model of the first layer of each chunk; of an empty chunk, of the layer that
// follows.
[[nodiscard]] ChunkCounts first_layers_of_chunks(const RunSpec& run);

}  // namespace shardsim
