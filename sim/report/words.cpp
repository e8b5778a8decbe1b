#include "report/words.h"

#include <array>
#include <vector>

#include "base/text.h"
#include "sharding/primitive.h"

namespace shardsim {

namespace {

template <class Enum, std::size_t N>
std::string pick(Enum value, const std::array<const char*, N>& words) {
  return words.at(static_cast<std::size_t>(value));
}

}  // namespace

std::string order_text(const ParallelSpec& parallel) {
  std::vector<std::string> axes;
  for (Axis axis : parallel.order) axes.emplace_back(name(axis));
  return join(axes, "-");
}

std::string word(KvStrategy strategy) {
  return pick(strategy, std::array{"shared", "replicate", "gather"});
}
std::string word(VocabCut cut) { return pick(cut, std::array{"vocab", "hidden", "none"}); }
std::string word(CpComm comm) {
  return pick(comm, std::array{"p2p", "all_gather", "a2a", "a2a+p2p"});
}
std::string word(Dispatcher dispatcher) {
  return pick(dispatcher, std::array{"alltoall", "deepep"});
}

std::string word(AttentionKind kind) { return pick(kind, std::array{"flash", "unfused"}); }
std::string word(Recompute recompute) {
  return pick(recompute, std::array{"none", "selective", "full"});
}
std::string word(RecomputeModule module) {
  return pick(module, std::array{"core_attn", "mlp", "layernorm", "moe_act", "mla_up_proj", "moe"});
}
std::string word(RecomputeMethod method) { return pick(method, std::array{"uniform", "block"}); }

std::string recompute_text(const TrainingSpec& training) {
  std::string text = word(training.recompute);
  if (training.recompute == Recompute::selective) {
    std::vector<std::string> modules;
    for (RecomputeModule module : training.recompute_modules) modules.push_back(word(module));
    text += " (" + join(modules, ", ") + ")";
  }
  if (training.recompute == Recompute::full) {
    text += " (" + word(training.recompute_method) + ", " +
            counted(training.recompute_layers, "layer") + ")";
  }
  return text;
}

}  // namespace shardsim
