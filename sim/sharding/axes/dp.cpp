// Data parallelism: every operator sees its own sequences, weights are whole. Weight gradients are
// therefore Partial; that is all the communication there is (ZeRO decides what they turn into).
#include "sharding/axes/axes.h"

namespace shardsim {

ShardingAxis data_parallel() {
  return {"dp", "cuts b; gradients are summed over it", Axis::dp,
          [](const ParallelSpec& parallel) { return parallel.dp > 1; },
          [](OperatorKind kind, const ParallelSpec&) -> std::optional<AxisRow> {
            if (is_expert(kind)) {
              return std::nullopt;  // of the experts' grid: edp
            }
            return AxisRow{shard(Dim::batch), kReplicate, shard(Dim::batch)};
          }};
}

}  // namespace shardsim
