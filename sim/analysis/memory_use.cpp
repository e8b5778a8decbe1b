#include <algorithm>

#include "analysis/analysis.h"
#include "base/ids.h"
#include "workload/memory.h"

namespace shardsim {

MemoryUse memory_use(const Program& program, const RunSpec& run) {
  MemoryUse use;
  for (const RankProgram& rank : program.programs) {
    StageMemory here;
    here.stage = rank.stage;
    here.weights = rank.memory.weights;
    here.gradients = rank.memory.gradients;
    here.optimizer = rank.memory.optimizer;
    here.other = rank.memory.other;
    here.activations = activation_peak(program, rank).peak;
    here.peak = here.weights + here.gradients + here.optimizer + here.other + here.activations;
    if (count(use.stages) <= rank.stage) {
      use.stages.resize(static_cast<std::size_t>(rank.stage) + 1);
    }
    StageMemory& stage = at(use.stages, rank.stage);  // of several kinds of ranks the worst
    stage = here.peak > stage.peak ? here : stage;
    use.peak = std::max(use.peak, here.peak);
  }
  use.capacity = run.cluster.gpu.memory_capacity;
  use.fits = use.peak <= use.capacity;
  return use;
}

}  // namespace shardsim
