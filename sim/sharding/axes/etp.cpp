// Tensor parallelism inside an expert: ffn is cut as in a dense MLP (axes/tp.cpp).
//
// The ranks of a group hold different tokens, so the experts' input is gathered over it and the
// output scattered again, as sequence parallelism does (Megatron: MoEAlltoAllTokenDispatcher).
// Where the dense layers repeat their tokens over tp (no sp), etp is tp and they are there already.
#include "sharding/axes/axes.h"

namespace shardsim {
namespace {

std::optional<AxisRow> row(OperatorKind kind, const ParallelSpec& parallel) {
  using enum OperatorKind;
  const bool repeated = parallel.tp > 1 && !parallel.sp;
  const Placement tokens = repeated ? kReplicate : shard(Dim::token);
  switch (kind) {
    case permute:
    case unpermute:
    case expert_sort:
    case expert_unsort:
      return AxisRow{tokens, kReplicate, tokens};
    case expert_up:
      return AxisRow{kReplicate, shard(Dim::ffn), shard(Dim::ffn)};
    case expert_activation:
      return AxisRow{shard(Dim::ffn), kReplicate, shard(Dim::ffn)};
    case expert_down:
      return AxisRow{shard(Dim::ffn), shard(Dim::ffn), kPartial};
    default:
      return std::nullopt;
  }
}

}  // namespace

ShardingAxis expert_tensor_parallel() {
  return {"etp", "cuts ffn inside an expert", Axis::etp,
          [](const ParallelSpec& parallel) { return parallel.etp > 1; }, row};
}

}  // namespace shardsim
