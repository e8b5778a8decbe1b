// Data parallelism of experts: the ranks that hold the same experts see different tokens, so expert
// gradients are summed over them only.
#include "sharding/axes/axes.h"
#include "sharding/rank_grid.h"

namespace shardsim {

ShardingAxis expert_data_parallel() {
  return {
      "edp", "cuts the tokens of the same experts; their gradients are summed over it", Axis::edp,
      [](const ParallelSpec& parallel) { return axis_size(parallel, Axis::edp) > 1; },
      [](OperatorKind kind, const ParallelSpec&) -> std::optional<AxisRow> {
        if (is_expert(kind) || kind == OperatorKind::permute || kind == OperatorKind::unpermute) {
          return AxisRow{shard(Dim::token), kReplicate, shard(Dim::token)};
        }
        return std::nullopt;
      }};
}

}  // namespace shardsim
