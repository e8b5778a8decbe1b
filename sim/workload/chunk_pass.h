// The forward and the backward of one model chunk for one micro batch, as pass templates.
//
//   forward:  [parameter gathers] recv, begin, [embedding], layers, [head and loss], send
//   backward: recv, begin, [loss and head], layers (recomputed first where they must be),
//             [embedding], send; each bucket of gradients reduced once its last weight is done
//   weights:  begin, [head], layers: the weight gradients that a split backward left, reduced
// A layer pass has a host timer that starts with it; the next layer pass, or the send, starts when
// both the timer and the layer's last operation have ended.
#pragma once

#include "workload/chain_pass.h"
#include "workload/gradient_sync.h"
#include "workload/operator_steps.h"
#include "workload/pass_builder.h"
#include "workload/sharded_units.h"

namespace shardsim {

struct ModelChains {  // of one rank; equal on all stages
  Chain embedding;
  Chain dense;  // a layer
  Chain moe;    // a layer with experts; empty in a dense model
  Chain head;
  Transition to_layers;  // from the embedding's last operator to the first norm
};
[[nodiscard]] ModelChains make_chains(const RunSpec& run, const RankVariant& variant = {});

struct Chunk {  // one model chunk on its stage
  std::int32_t stage = 0;
  std::int32_t chunk = 0;
  std::int64_t layers = 0;
  std::vector<LayerKind> kinds{};  // of its layers
  bool first = false;     // of the whole model: has the embedding, receives nothing in forward
  bool last = false;      // has the head and the loss, sends nothing in forward
  bool mirrored = false;  // of a bidirectional pipeline: its activations go to the stage before
};
// [stage][chunk]. A bidirectional pipeline has two: the stage's own part and its mirror image's.
[[nodiscard]] std::vector<std::vector<Chunk>> make_chunks(const RunSpec& run);

[[nodiscard]] const Chain& chain_of_layer(const ModelChains& chains, const Chunk& chunk,
                                          std::int32_t layer);

[[nodiscard]] GradientUnits gradient_units(const ModelChains& chains, const Chunk& chunk);
[[nodiscard]] LocalParameters chunk_parameters(const ModelChains& chains, const Chunk& chunk);
[[nodiscard]] LocalParameters stage_parameters(const ModelChains& chains,
                                               const std::vector<Chunk>& chunks);

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
