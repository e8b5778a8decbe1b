#include "workload/static_memory.h"

#include "base/errors.h"

namespace shardsim {

StaticMemory static_memory(const RunSpec& run, std::int64_t parameters) {
  const TrainingSpec& training = run.training;
  const std::int64_t shards = run.parallel.zero >= 1 ? run.parallel.zero_group : 1;
  const std::int64_t held = (parameters + shards - 1) / shards;
  const std::int64_t master = training.param_dtype == Precision::fp32 ? 0 : 4;
  const std::int64_t moments = training.optimizer == Optimizer::adam ? 8 : 4;
  return {.weights = Bytes{checked_mul(parameters, element_bytes(training.param_dtype))},
          .gradients = Bytes{checked_mul(parameters, element_bytes(training.grad_dtype))},
          .optimizer = Bytes{checked_mul(held, master + moments)},
          .other = training.memory_reserve};
}

}  // namespace shardsim
