#include <fmt/format.h>

#include "spec/tables.h"

namespace shardsim {
namespace {

using Keys = std::vector<Key<ModelSpec>>;

void add_moe(Keys& keys) {
  using M = ModelSpec;
  keys.push_back({{"moe", object(), absent(), "mixture of experts in place of the MLP"},
                  [](M& m, const Parsed&) { m.moe.emplace(); }});
  keys.push_back({{"moe.experts", integer(1, 100'000), required(), "routed experts of a layer"},
                  [](M& m, const Parsed& v) { m.moe->experts = v.integer; }});
  keys.push_back({{"moe.top_k", integer(1, 100'000), required(), "experts that a token visits"},
                  [](M& m, const Parsed& v) { m.moe->top_k = v.integer; }});
  keys.push_back({{"moe.expert_ffn", integer(1, kMaxFfn), required(), "width of one expert"},
                  [](M& m, const Parsed& v) { m.moe->expert_ffn = v.integer; }});
  keys.push_back({{"moe.shared_ffn", integer(0, kMaxFfn), by_default("0"),
                   "summed width of the experts that every token visits"},
                  [](M& m, const Parsed& v) { m.moe->shared_ffn = v.integer; }});
  keys.push_back({{"moe.first_dense", integer(0, kMaxLayers), by_default("0"),
                   "leading layers that keep a dense MLP"},
                  [](M& m, const Parsed& v) { m.moe->first_dense = v.integer; }});
  keys.push_back(
      {{"moe.every", integer(1, kMaxLayers), by_default("1"), "every n-th layer has experts"},
       [](M& m, const Parsed& v) { m.moe->every = v.integer; }});
  keys.push_back({{"moe.groups", integer(1, 100'000), by_default("1"),
                   "equal groups of experts, from few of which a token chooses"},
                  [](M& m, const Parsed& v) { m.moe->groups = v.integer; }});
  keys.push_back({{"moe.group_top_k", integer(1, 100'000), by_default("1"),
                   "groups from which a token may choose its experts"},
                  [](M& m, const Parsed& v) { m.moe->group_top_k = v.integer; }});
  keys.push_back({{"moe.capacity_factor", number(0.001, 1000), derived("no token is dropped"),
                   "tokens an expert takes over the mean"},
                  [](M& m, const Parsed& v) { m.moe->capacity_factor = v.number; }});
  keys.push_back(
      {{"moe.dispatch_dtype", choice(precision_names()), by_default("\"bf16\""),
        "number format of tokens on their way to experts"},
       [](M& m, const Parsed& v) { m.moe->dispatch_dtype = static_cast<Precision>(v.choice); }});
}

void add_mla(Keys& keys) {
  using M = ModelSpec;
  const ValueType rank = integer(1, kMaxHidden);
  keys.push_back({{"mla", object(), absent(), "multi-head latent attention"},
                  [](M& m, const Parsed&) { m.mla.emplace(); }});
  keys.push_back({{"mla.q_lora_rank", integer(0, kMaxHidden), by_default("0"),
                   "rank of compressed queries, 0 = not compressed"},
                  [](M& m, const Parsed& v) { m.mla->q_lora_rank = v.integer; }});
  keys.push_back({{"mla.kv_lora_rank", rank, required(), "rank of compressed keys and values"},
                  [](M& m, const Parsed& v) { m.mla->kv_lora_rank = v.integer; }});
  keys.push_back({{"mla.qk_nope_head_dim", rank, required(), "part of a head without rotation"},
                  [](M& m, const Parsed& v) { m.mla->qk_nope_head_dim = v.integer; }});
  keys.push_back({{"mla.qk_rope_head_dim", rank, required(), "part of a head with rotation"},
                  [](M& m, const Parsed& v) { m.mla->qk_rope_head_dim = v.integer; }});
  keys.push_back({{"mla.v_head_dim", rank, required(), "width of a value head"},
                  [](M& m, const Parsed& v) { m.mla->v_head_dim = v.integer; }});
}

void add_sizes(Keys& keys) {
  using M = ModelSpec;
  keys.push_back({{"name", filled_text(), required(), "shown in reports"},
                  [](M& m, const Parsed& v) { m.name = v.text; }});
  keys.push_back({{"layers", integer(1, kMaxLayers), required(), "transformer layers"},
                  [](M& m, const Parsed& v) { m.layers = v.integer; }});
  keys.push_back({{"hidden", integer(1, kMaxHidden), required(), "width of the residual stream"},
                  [](M& m, const Parsed& v) { m.hidden = v.integer; }});
  keys.push_back({{"ffn", integer(1, kMaxFfn), required(), "width of the MLP"},
                  [](M& m, const Parsed& v) { m.ffn = v.integer; }});
  keys.push_back({{"heads", integer(1, kMaxHeads), required(), "attention heads"},
                  [](M& m, const Parsed& v) { m.heads = v.integer; }});
  keys.push_back({{"kv_heads", integer(1, kMaxHeads), derived("heads"), "key and value heads"},
                  [](M& m, const Parsed& v) { m.kv_heads = v.integer; }});
  keys.push_back({{"head_dim", integer(1, 100'000), derived("hidden / heads"), "width of a head"},
                  [](M& m, const Parsed& v) { m.head_dim = v.integer; }});
  keys.push_back({{"vocab", integer(1, kMaxVocab), required(), "vocabulary without padding"},
                  [](M& m, const Parsed& v) { m.vocab = v.integer; }});
}

void add_kinds(Keys& keys) {
  using M = ModelSpec;
  keys.push_back({{"gated_mlp", boolean(), required(), "SwiGLU-like MLP with gate and up"},
                  [](M& m, const Parsed& v) { m.gated_mlp = v.boolean; }});
  keys.push_back({{"tied_embeddings", boolean(), required(), "one matrix embeds and is the head"},
                  [](M& m, const Parsed& v) { m.tied_embeddings = v.boolean; }});
  keys.push_back({{"norm", choice({"rmsnorm", "layernorm"}), required(), "normalisation"},
                  [](M& m, const Parsed& v) { m.norm = static_cast<Norm>(v.choice); }});
  keys.push_back({{"position", choice({"rope", "learned", "none"}),
                   derived("rope with rmsnorm, learned with layernorm"), "position encoding"},
                  [](M& m, const Parsed& v) { m.position = static_cast<Position>(v.choice); }});
  keys.push_back({{"bias", choice({"none", "qkv", "all"}),
                   derived("none with rmsnorm, all with layernorm"), "which matrices have biases"},
                  [](M& m, const Parsed& v) { m.bias = static_cast<Bias>(v.choice); }});
  keys.push_back({{"qk_norm", boolean(), by_default("false"), "queries and keys are normalised"},
                  [](M& m, const Parsed& v) { m.qk_norm = v.boolean; }});
  keys.push_back({{"embedding_norm", boolean(), by_default("false"),
                   "the embedding is normalised before the first layer"},
                  [](M& m, const Parsed& v) { m.embedding_norm = v.boolean; }});
  keys.push_back({{"activation", choice({"silu", "gelu", "relu"}),
                   derived("silu with rmsnorm, gelu with layernorm"), "activation of the MLP"},
                  [](M& m, const Parsed& v) { m.activation = static_cast<Activation>(v.choice); }});
  keys.push_back({{"dropout", number_below(0, 1), derived("0 with rmsnorm, 0.1 with layernorm"),
                   "probability of dropout"},
                  [](M& m, const Parsed& v) { m.dropout = v.number; }});
  keys.push_back({{"max_positions", integer(1, kMaxSequence),
                   derived("2048, or the sequence when that is longer"),
                   "rows of the table of learned positions"},
                  [](M& m, const Parsed& v) { m.max_positions = v.integer; }});
}

void derive_head_dim(ModelSpec& model, const JsonValue& json, const std::string& prefix,
                     ReadLog& log) {
  if (model.head_dim > 0 || model.heads == 0 || model.hidden == 0) {
    return;
  }
  if (model.hidden % model.heads == 0) {
    model.head_dim = model.hidden / model.heads;
    return;
  }
  log.failed.push_back(prefix + "head_dim");
  add_problem(log, *find(json, "heads"),
              fmt::format("heads {} does not divide hidden {}", model.heads, model.hidden),
              "state head_dim, or use heads that divide hidden");
}

bool stated(const JsonValue& json, std::string_view key) {
  const JsonValue* member = find(json, key);
  return member != nullptr && member->kind != JsonValue::Kind::null;
}

}  // namespace

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> table{"fp32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"};
  return table;
}

const std::vector<Key<ModelSpec>>& model_keys() {
  static const Keys table = [] {
    Keys keys;
    add_sizes(keys);
    add_kinds(keys);
    add_moe(keys);
    add_mla(keys);
    keys.push_back({{"mtp_layers", integer(0, 100), by_default("0"),
                     "layers of multi-token prediction behind the last"},
                    [](ModelSpec& m, const Parsed& v) { m.mtp_layers = v.integer; }});
    return keys;
  }();
  return table;
}

ModelSpec read_model_value(const JsonValue& json, const std::string& prefix, ReadLog& log) {
  ModelSpec model;
  read_into(model, json, model_keys(), prefix, log);
  const bool layernorm = model.norm == Norm::layernorm;
  if (model.kv_heads == 0) {
    model.kv_heads = model.heads;
  }
  derive_head_dim(model, json, prefix, log);
  if (!stated(json, "position")) {
    model.position = layernorm ? Position::learned : Position::rope;
  }
  if (!stated(json, "bias")) {
    model.bias = layernorm ? Bias::all : Bias::none;
  }
  if (!stated(json, "activation")) {
    model.activation = layernorm ? Activation::gelu : Activation::silu;
  }
  if (!stated(json, "dropout")) {
    model.dropout = layernorm ? 0.1 : 0.0;
  }
  if (model.position != Position::learned) {
    model.max_positions = 0;  // a context length, no table
  }
  return model;
}

}  // namespace shardsim
