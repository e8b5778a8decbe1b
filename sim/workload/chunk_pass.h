// The forward and the backward of one model chunk for one micro batch, as pass templates.
//
//   forward:  [parameter gathers] recv, begin, [embedding], layers, [head and loss], [MTP], send
//   backward: recv, begin, [MTP], [loss and head], layers (recomputed first where they must be),
//             [embedding], send; each bucket of gradients reduced once its last weight is done
//   weights:  begin, [MTP], [head], layers: the weight gradients that a split backward left,
//   reduced
#pragma once

#include "workload/chunk_units.h"
#include "workload/pass_builder.h"

namespace shardsim {

// What a pass template is made from: equal values (but for `chunk.stage` and `chunk.chunk`) give
// equal templates.
struct ChunkPass {
  PassKind kind = PassKind::forward;
  BackwardPart part = BackwardPart::both;  // of backward and weight passes
  PassSync sync;
};
[[nodiscard]] PassTemplate chunk_pass(const RunSpec& run, const ModelChains& chains,
                                      const Chunk& chunk, const ChunkPass& what,
                                      ProgramTables& tables);
// What distinguishes the templates of two chunks; equal texts mean equal templates.
[[nodiscard]] std::string pass_name(const Chunk& chunk, const ChunkPass& what);

}  // namespace shardsim
