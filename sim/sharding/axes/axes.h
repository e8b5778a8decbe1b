// The parallel axes: what each needs and yields at each operator. One file per axis, listed in
// axes/table.cpp. The files state placements only; derive.h works out the communication.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharding/operators.h"
#include "sharding/placement.h"
#include "spec/run_spec.h"

namespace shardsim {

struct ShardingAxis {
  std::string name;  // as in the run file: "tp", "sp", "ep", ...
  std::string help;
  Axis grid;  // the axis of the rank grid it runs along: sp shares tp's
  bool (*active)(const ParallelSpec& parallel);
  // Placements along `grid`; nullopt where this axis has nothing to say. A later line of the table
  // overrides an earlier one on the same grid axis.
  std::optional<AxisRow> (*row)(OperatorKind kind, const ParallelSpec& parallel);
};

[[nodiscard]] const std::vector<ShardingAxis>& sharding_axes();

[[nodiscard]] ShardingAxis tensor_parallel();
[[nodiscard]] ShardingAxis sequence_parallel();
[[nodiscard]] ShardingAxis context_parallel();
[[nodiscard]] ShardingAxis data_parallel();
[[nodiscard]] ShardingAxis pipeline_parallel();
[[nodiscard]] ShardingAxis expert_parallel();
[[nodiscard]] ShardingAxis expert_tensor_parallel();
[[nodiscard]] ShardingAxis expert_data_parallel();

}  // namespace shardsim
