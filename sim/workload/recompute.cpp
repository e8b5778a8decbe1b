#include "workload/recompute.h"

#include <algorithm>

namespace shardsim {

std::vector<LayerGroup> layer_groups(const TrainingSpec& training, std::int64_t layers) {
  const bool full = training.recompute == Recompute::full;
  const bool uniform = training.recompute_method == RecomputeMethod::uniform;
  const auto stated = static_cast<std::int32_t>(std::min(
      std::max<std::int64_t>(training.recompute_layers, 1), std::max<std::int64_t>(layers, 1)));
  std::vector<LayerGroup> groups;
  for (std::int32_t first = 0; first < layers;) {
    LayerGroup group{.first = first};
    if (full && uniform) {
      group.count = std::min(stated, static_cast<std::int32_t>(layers) - first);
      group.checkpointed = true;
    } else {
      group.checkpointed = full && first < training.recompute_layers;
    }
    groups.push_back(group);
    first += group.count;
  }
  return groups;
}

bool recomputes_core(const TrainingSpec& training) {
  return training.recompute == Recompute::selective &&
         std::find(training.recompute_modules.begin(), training.recompute_modules.end(),
                   RecomputeModule::core_attn) != training.recompute_modules.end();
}

}  // namespace shardsim
