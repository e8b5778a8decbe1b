// The operators of a transformer, in the order data passes them.
//
// One layer:  norm -> qkv -> [qk_norm] -> [rope] -> attention -> attention_out -> residual
//             -> norm -> up -> activation -> down -> residual
// with latent attention (mla), in place of qkv and qk_norm: mla down -> mla norm -> mla up;
// with experts, in place of up to down:
//             [shared up -> shared activation -> shared down ->] router -> permute -> expert sort
//             -> expert up -> expert activation -> expert down -> expert unsort -> unpermute
// Tokens leave their rank after permute and are back before unpermute. Shared experts branch off
// the same norm; in the chain they stand before the router, whose input is placed as their output
// is needed.
// A layer of multi-token prediction (DeepSeek-V3, arXiv 2412.19437 section 2.2) puts a norm of the
// embedding of the token further on and a norm of the hidden state before a whole layer:
//             norm -> norm -> mtp projection -> mtp output -> norm -> ...
// Ends:       embedding -> [position] -> [norm] -> [dropout] -> layers -> norm -> head -> loss
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "spec/model_spec.h"

namespace shardsim {

enum class OperatorKind : std::uint8_t {
  embedding,
  position,  // adds the learned position table
  dropout,   // of the embedding
  norm,
  qkv,
  qk_norm,
  rope,
  attention,  // the core: scores, softmax, values
  attention_out,
  residual,  // bias, dropout and the addition of the residual stream
  up,        // and gate
  activation,
  down,
  head,
  loss,
  shared_up,  // the experts that every token visits, cut like a dense MLP
  shared_activation,
  shared_down,
  router,       // scores of all experts and the choice of top_k
  permute,      // copies each token once per chosen expert, sorted by the rank it goes to
  expert_sort,  // of what arrived, by local expert
  expert_up,    // grouped products over the local experts
  expert_activation,
  expert_down,
  expert_unsort,  // back to the order in which tokens arrived
  unpermute,      // sums what the experts of a token returned
  mla_down,       // compresses queries, and keys with values, to latents
  mla_norm,
  mla_up,          // projects every head's queries, keys and values from the latents
  mtp_projection,  // from the two normalised vectors beside each other to one
  mtp_output,      // what it yields, whole before it is shared out again
};
[[nodiscard]] std::string_view name(OperatorKind kind);

// Whether the operator stands in the experts' grid (etp ep edp pp): it sees the tokens of the
// rank's experts.
[[nodiscard]] bool is_expert(OperatorKind kind);

// A matrix product with weights inside a layer: all of them but the router's.
[[nodiscard]] bool is_block_linear(OperatorKind kind);

enum class LayerKind : std::uint8_t { dense, moe };
// Leading layers are dense, then every n-th has experts.
[[nodiscard]] LayerKind layer_kind(const ModelSpec& model, std::int64_t layer);

[[nodiscard]] std::vector<LayerKind> layer_kinds(const ModelSpec& model);  // that it has, each once

[[nodiscard]] std::vector<OperatorKind> layer_operators(const ModelSpec& model,
                                                        LayerKind layer = LayerKind::dense);
// A layer of multi-token prediction, of the kind of the model's last layer (Megatron,
// get_gpt_mtp_block_spec); its embedding and its head stand apart.
[[nodiscard]] LayerKind mtp_layer_kind(const ModelSpec& model);
[[nodiscard]] std::vector<OperatorKind> mtp_operators(const ModelSpec& model);
[[nodiscard]] std::vector<OperatorKind> embedding_operators(const ModelSpec& model);
[[nodiscard]] std::vector<OperatorKind> head_operators();

}  // namespace shardsim
