// Pipeline schedules: pure functions from the pipeline's shape to the order of passes on one stage.
// One file per schedule in workload/schedules/, listed in schedules/table.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload/program.h"

namespace shardsim {

struct PassCosts {  // relative, for schedules that are searched
  double forward = 1;
  double backward = 1;
  double weight = 1;
  double communication = 0;
};

struct ScheduleInput {
  std::int32_t stage = 0;
  std::int32_t stages = 1;
  std::int32_t chunks = 1;  // vpp: model chunks per stage
  std::int32_t micro_batches = 1;
  PassCosts costs;
  double memory_limit = 0;  // in activations of one pass; 0 = none
};

struct ScheduledPass {
  PassKind kind = PassKind::forward;  // forward, backward (with or without W), weight
  std::int32_t micro_batch = 0;
  std::int32_t chunk = 0;
  bool operator==(const ScheduledPass&) const = default;
};

struct Schedule {
  std::string name;
  std::string help;
  bool splits_backward;  // weight passes are separate
  std::vector<ScheduledPass> (*passes)(const ScheduleInput& input);
  // Problem with this shape in words, or "": e.g. interleaved needs micro_batches >= stages.
  std::string (*objection)(const ScheduleInput& input);
};

[[nodiscard]] const std::vector<Schedule>& schedules();
[[nodiscard]] const Schedule& find_schedule(const std::string& name);  // InternalError if unknown

}  // namespace shardsim
