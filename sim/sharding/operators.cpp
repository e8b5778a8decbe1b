#include "sharding/operators.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace shardsim {

std::string_view name(OperatorKind kind) {
  constexpr std::array<std::string_view, 31> kNames{"embedding",
                                                    "position",
                                                    "dropout",
                                                    "norm",
                                                    "qkv",
                                                    "qk_norm",
                                                    "rope",
                                                    "attention",
                                                    "attention out",
                                                    "residual",
                                                    "up",
                                                    "activation",
                                                    "down",
                                                    "head",
                                                    "loss",
                                                    "shared up",
                                                    "shared activation",
                                                    "shared down",
                                                    "router",
                                                    "permute",
                                                    "expert sort",
                                                    "expert up",
                                                    "expert activation",
                                                    "expert down",
                                                    "expert unsort",
                                                    "unpermute",
                                                    "mla down",
                                                    "mla norm",
                                                    "mla up",
                                                    "mtp projection",
                                                    "mtp output"};
  return kNames.at(static_cast<std::size_t>(kind));
}

bool is_expert(OperatorKind kind) {
  using enum OperatorKind;
  return kind == expert_sort || kind == expert_up || kind == expert_activation ||
         kind == expert_down || kind == expert_unsort;
}

bool is_block_linear(OperatorKind kind) {
  using enum OperatorKind;
  return kind == qkv || kind == mla_down || kind == mla_up || kind == attention_out || kind == up ||
         kind == down || kind == shared_up || kind == shared_down || kind == expert_up ||
         kind == expert_down;
}

LayerKind layer_kind(const ModelSpec& model, std::int64_t layer) {
  const bool moe = model.moe && layer >= model.moe->first_dense &&
                   (layer - model.moe->first_dense) % model.moe->every == 0;
  return moe ? LayerKind::moe : LayerKind::dense;
}

std::vector<LayerKind> layer_kinds(const ModelSpec& model) {
  std::vector<LayerKind> kinds;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerKind kind = layer_kind(model, layer);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

std::vector<OperatorKind> layer_operators(const ModelSpec& model, LayerKind layer) {
  using enum OperatorKind;
  std::vector<OperatorKind> kinds;
  const auto add = [&kinds](std::initializer_list<OperatorKind> more) {
    for (const OperatorKind kind : more) {
      kinds.push_back(kind);
    }
  };
  add({norm});
  if (model.mla) {
    add({mla_down, mla_norm, mla_up});
  } else {
    add({qkv});
    if (model.qk_norm) {
      add({qk_norm});
    }
  }
  if (model.position == Position::rope) {
    add({rope});
  }
  add({attention, attention_out, residual, norm});
  if (layer == LayerKind::dense) {
    add({up, activation, down});
  } else {
    if (model.moe->shared_ffn > 0) {
      add({shared_up, shared_activation, shared_down});
    }
    add({router, permute, expert_sort, expert_up, expert_activation, expert_down, expert_unsort,
         unpermute});
  }
  add({residual});
  return kinds;
}

LayerKind mtp_layer_kind(const ModelSpec& model) { return layer_kind(model, model.layers - 1); }

std::vector<OperatorKind> mtp_operators(const ModelSpec& model) {
  using enum OperatorKind;
  std::vector<OperatorKind> kinds{norm, norm, mtp_projection, mtp_output};
  const std::vector<OperatorKind> layer = layer_operators(model, mtp_layer_kind(model));
  kinds.insert(kinds.end(), layer.begin(), layer.end());
  return kinds;
}

std::vector<OperatorKind> embedding_operators(const ModelSpec& model) {
  using enum OperatorKind;
  std::vector<OperatorKind> kinds{embedding};
  if (model.position == Position::learned) {
    kinds.push_back(position);
  }
  if (model.embedding_norm) {
    kinds.push_back(norm);
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
