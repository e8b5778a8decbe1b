#include "sharding/operators.h"

#include <array>

namespace shardsim {

std::string_view name(OperatorKind kind) {
  constexpr std::array<std::string_view, 15> kNames{
      "embedding",     "position", "dropout", "norm",       "qkv",  "qk_norm", "rope", "attention",
      "attention out", "residual", "up",      "activation", "down", "head",    "loss"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::vector<OperatorKind> layer_operators(const ModelSpec& model) {
  using enum OperatorKind;
  std::vector<OperatorKind> kinds{norm, qkv};
  if (model.qk_norm) {
    kinds.push_back(qk_norm);
  }
  if (model.position == Position::rope) {
    kinds.push_back(rope);
  }
  kinds.insert(kinds.end(),
               {attention, attention_out, residual, norm, up, activation, down, residual});
  return kinds;
}

std::vector<OperatorKind> embedding_operators(const ModelSpec& model) {
  using enum OperatorKind;
  std::vector<OperatorKind> kinds{embedding};
  if (model.position == Position::learned) {
    kinds.push_back(position);
  }
  if (model.dropout > 0) {
    kinds.push_back(dropout);
  }
  return kinds;
}

std::vector<OperatorKind> head_operators() {
  using enum OperatorKind;
  return {norm, head, loss};
}

}  // namespace shardsim
