// One measured run, predicted: from a record to what is held against its figures.
//
// `predict` runs in a worker process (worker_pool.h) and `add_records` where its bytes arrive.
#pragma once

#include <string>
#include <vector>

#include "commands/simulate.h"
#include "report/validation.h"
#include "sharding/parameters.h"
#include "spec/measured_run.h"

namespace shardsim {

struct MeasuredTask {
  std::string source;
  MeasuredRun record;
};

[[nodiscard]] std::string predict(const MeasuredTask& task, const SimulateOptions& options);

// False when the record states nothing that a prediction can be compared with.
[[nodiscard]] bool add_records(const MeasuredTask& task, const std::string& prediction,
                               std::vector<TimeRecord>& times, std::vector<MemoryRecord>& memory);

// nullptr when there is none of that name.
[[nodiscard]] const FlopsConvention* find_flops_convention(const std::string& name);

}  // namespace shardsim
