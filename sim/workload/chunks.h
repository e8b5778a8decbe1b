// The chains of operators of a model on one rank, and which of them each model chunk holds.
#pragma once

#include "workload/operator_steps.h"

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

}  // namespace shardsim
