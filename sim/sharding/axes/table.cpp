#include "sharding/axes/axes.h"

namespace shardsim {

const std::vector<ShardingAxis>& sharding_axes() {
  static const std::vector<ShardingAxis> kTable{
      tensor_parallel(),   sequence_parallel(),      context_parallel(), data_parallel(),
      pipeline_parallel(), expert_tensor_parallel(), expert_parallel(),  expert_data_parallel(),
  };
  return kTable;
}

}  // namespace shardsim
