// Models and training jobs built in C++, for tests that start below the JSON reader.
#pragma once

#include "spec/run_spec.h"

namespace shardsim::jobs {

inline ModelSpec gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  ModelSpec model;
  model.name = "gpt";
  model.layers = layers;
  model.hidden = hidden;
  model.ffn = 4 * hidden;
  model.heads = heads;
  model.kv_heads = heads;
  model.head_dim = hidden / heads;
  model.vocab = 51200;
  model.tied_embeddings = true;
  model.norm = Norm::layernorm;
  model.position = Position::learned;
  model.bias = Bias::all;
  model.activation = Activation::gelu;
  model.dropout = 0.1;
  model.max_positions = 2048;
  return model;
}

inline ModelSpec llama(std::int64_t layers, std::int64_t hidden, std::int64_t ffn,
                       std::int64_t heads, std::int64_t kv_heads, std::int64_t vocab) {
  ModelSpec model;
  model.name = "llama";
  model.layers = layers;
  model.hidden = hidden;
  model.ffn = ffn;
  model.heads = heads;
  model.kv_heads = kv_heads;
  model.head_dim = hidden / heads;
  model.vocab = vocab;
  model.gated_mlp = true;
  return model;
}

// Shapes of the published config.json files.
inline ModelSpec llama3_8b() { return llama(32, 4096, 14336, 32, 8, 128256); }
inline ModelSpec llama3_70b() { return llama(80, 8192, 28672, 64, 8, 128256); }
inline ModelSpec llama3_405b() { return llama(126, 16384, 53248, 128, 8, 128256); }
inline ModelSpec llama2_7b() { return llama(32, 4096, 11008, 32, 32, 32000); }
inline ModelSpec llama2_13b() { return llama(40, 5120, 13824, 40, 40, 32000); }
inline ModelSpec llama2_70b() { return llama(80, 8192, 28672, 64, 8, 32000); }

struct Layout {
  std::int64_t tp = 1;
  bool sp = false;
  std::int64_t cp = 1;
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  std::int64_t dp = 1;
  std::int64_t zero = 0;
  std::int64_t micro_batches = 1;
  std::int64_t micro = 1;
  std::int64_t sequence = 2048;
};

inline RunSpec job(const ModelSpec& model, const Layout& layout) {
  RunSpec run;
  run.file = "job.json";
  run.model = model;
  run.parallel.tp = layout.tp;
  run.parallel.sp = layout.sp;
  run.parallel.cp = layout.cp;
  run.parallel.pp = layout.pp;
  run.parallel.vpp = layout.vpp;
  run.parallel.dp = layout.dp;
  run.parallel.zero = layout.zero;
  run.parallel.zero_group = layout.dp * layout.cp;
  run.gpus = layout.tp * layout.cp * layout.pp * layout.dp;
  run.batch.micro = layout.micro;
  run.batch.sequence = layout.sequence;
  run.batch.micro_batches = layout.micro_batches;
  run.batch.global = layout.micro * layout.dp * layout.micro_batches;
  run.training.schedule = layout.vpp > 1 ? "interleaved" : "1f1b";
  return run;
}

}  // namespace shardsim::jobs
