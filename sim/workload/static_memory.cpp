#include "workload/static_memory.h"

#include <algorithm>

#include "base/errors.h"
#include "workload/data_sync.h"

namespace shardsim {

StaticMemory static_memory(const RunSpec& run, LocalParameters parameters) {
  const TrainingSpec& training = run.training;
  const auto held = [&](bool sharded) { return held_of(run, parameters, sharded); };
  const std::int64_t weight = element_bytes(training.param_dtype);
  const std::int64_t gradient = shards_weights(run)
                                    ? std::max(weight, element_bytes(training.grad_dtype))
                                    : element_bytes(training.grad_dtype);
  const std::int64_t master = training.param_dtype == Precision::fp32 ? 0 : 4;
  const std::int64_t moments = training.optimizer == Optimizer::adam ? 8 : 4;
  return {.weights = Bytes{checked_mul(held(run.parallel.zero >= 3), weight)},
          .gradients = Bytes{checked_mul(held(reduces_each_micro_batch(run)), gradient)},
          .optimizer = Bytes{checked_mul(held(run.parallel.zero >= 1), master + moments)},
          .other = training.memory_reserve};
}

}  // namespace shardsim
