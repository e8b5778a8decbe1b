// The operators of a dense transformer, in the order data passes them.
//
// One layer:  norm -> qkv -> [qk_norm] -> [rope] -> attention -> attention_out -> residual
//             -> norm -> up -> activation -> down -> residual
// Ends:       embedding -> [position] -> [dropout] -> layers -> norm -> head -> loss
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
};
[[nodiscard]] std::string_view name(OperatorKind kind);

[[nodiscard]] std::vector<OperatorKind> layer_operators(const ModelSpec& model);
[[nodiscard]] std::vector<OperatorKind> embedding_operators(const ModelSpec& model);
[[nodiscard]] std::vector<OperatorKind> head_operators();

}  // namespace shardsim
