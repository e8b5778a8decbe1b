// The words that reports use for a layout: the same spelling as in a run file.
#pragma once

#include <string>

#include "spec/run_spec.h"

namespace shardsim {

[[nodiscard]] std::string order_text(const ParallelSpec& parallel);  // "tp-cp-ep-dp-pp"
[[nodiscard]] std::string word(KvStrategy strategy);
[[nodiscard]] std::string word(VocabCut cut);
[[nodiscard]] std::string word(CpComm comm);
[[nodiscard]] std::string word(Dispatcher dispatcher);
[[nodiscard]] std::string word(AttentionKind kind);
[[nodiscard]] std::string word(Recompute recompute);
[[nodiscard]] std::string word(RecomputeModule module);
[[nodiscard]] std::string word(RecomputeMethod method);

// "none", "selective (core_attn)", "full (uniform, 1 layer)"
[[nodiscard]] std::string recompute_text(const TrainingSpec& training);

}  // namespace shardsim
