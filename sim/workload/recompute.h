// Which layers of a chunk are recomputed together (Megatron's uniform and block methods).
//
//   full, uniform, 2 layers per checkpoint, 5 layers: {0,1} {2,3} {4}, each from its first input
//   full, block, 2 layers, 5 layers: {0} {1} from their inputs, {2} {3} {4} keep their activations
#pragma once

#include <cstdint>
#include <vector>

#include "spec/run_spec.h"

namespace shardsim {

struct LayerGroup {
  std::int32_t first = 0;
  std::int32_t count = 1;
  bool checkpointed = false;  // keeps only the input of its first layer
};

[[nodiscard]] std::vector<LayerGroup> layer_groups(const TrainingSpec& training,
                                                   std::int64_t layers);
// Selective recomputation of the attention core.
[[nodiscard]] bool recomputes_core(const TrainingSpec& training);

}  // namespace shardsim
