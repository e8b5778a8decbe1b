// The chains of operators of a model on one rank, and which of them each model chunk holds.
#pragma once

#include "workload/operator_steps.h"

namespace shardsim {

// One layer of multi-token prediction (DeepSeek-V3, arXiv 2412.19437 section 2.2): embeds the token
// one further on, joins it with the hidden state, runs a layer, and predicts with the model's own
// head. Embedding and head are those of the model: no weights of their own, but for a copy of the
// embedding where the pipeline's last stage has none (Megatron, multi_token_prediction.py).
struct MtpChains {
  Chain embedding;
  Chain layer;  // from the two norms to the layer's end
  Chain head;   // its final norm is its own
};

struct ModelChains {  // of one rank; equal on all stages
  Chain embedding;
  Chain dense;  // a layer
  Chain moe;    // a layer with experts; empty in a dense model
  Chain head;
  std::vector<MtpChains> mtp;
  Transition to_layers;  // from the embedding's last operator to the first norm
};
[[nodiscard]] ModelChains make_chains(const RunSpec& run, const RankVariant& variant = {});

struct Chunk {  // one model chunk on its stage
  std::int32_t stage = 0;
  std::int32_t chunk = 0;
  std::int64_t layers = 0;
  std::vector<LayerKind> kinds{};  // of its layers
  std::int64_t mtp = 0;            // layers of multi-token prediction, behind the head
  bool first = false;     // of the whole model: has the embedding, receives nothing in forward
  bool last = false;      // has the head and the loss, sends nothing in forward
  bool mirrored = false;  // of a bidirectional pipeline: its activations go to the stage before
};
// [stage][chunk]. A bidirectional pipeline has two: the stage's own part and its mirror image's.
[[nodiscard]] std::vector<std::vector<Chunk>> make_chunks(const RunSpec& run);

// Whether the last stage has a copy of the embedding for multi-token prediction alone.
[[nodiscard]] bool copies_embedding(const RunSpec& run);

[[nodiscard]] const Chain& chain_of_layer(const ModelChains& chains, const Chunk& chunk,
                                          std::int32_t layer);

}  // namespace shardsim
