// Pipeline parallelism: layers are cut, no operator is. A layer is on one stage or not there at
// all (workload/stages.h); the tensor between two stages is a named exception
// (workload/boundary.h).
#include "sharding/axes/axes.h"

namespace shardsim {

ShardingAxis pipeline_parallel() {
  return {"pp", "cuts L; activations are sent from stage to stage", Axis::pp,
          [](const ParallelSpec& parallel) { return parallel.pp > 1; },
          [](OperatorKind, const ParallelSpec&) -> std::optional<AxisRow> { return std::nullopt; }};
}

}  // namespace shardsim
