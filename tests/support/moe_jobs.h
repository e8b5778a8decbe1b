// Small jobs with experts, built in C++.
#pragma once

#include "support/jobs.h"

namespace shardsim::jobs {

struct MoeLayout {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  std::int64_t etp = 1;
  std::int64_t ep = 1;
  std::int64_t zero = 0;
  std::int64_t micro_batches = 1;
};

// 4 layers, hidden 64, 8 experts of width 256, top 2; 128 tokens a sequence; sp where tp > 1.
inline ModelSpec small_moe() {
  ModelSpec model = llama(4, 64, 512, 8, 8, 1024);
  model.name = "small-moe";
  model.moe.emplace();
  model.moe->experts = 8;
  model.moe->top_k = 2;
  model.moe->expert_ffn = 256;
  return model;
}

inline RunSpec moe_job(const MoeLayout& layout) {
  RunSpec run = job(small_moe(), {.tp = layout.tp,
                                  .sp = layout.tp > 1,
                                  .pp = layout.pp,
                                  .dp = layout.dp,
                                  .zero = layout.zero,
                                  .micro_batches = layout.micro_batches,
                                  .sequence = 128});
  run.parallel.etp = layout.etp;
  run.parallel.ep = layout.ep;
  return run;
}

}  // namespace shardsim::jobs
