// Sequence parallelism (Korthikanti et al., arXiv 2205.05198 section 4.2.2): outside the tensor
// parallel region the ranks of a tp group share the tokens.
#include "sharding/axes/axes.h"

namespace shardsim {
namespace {

std::optional<AxisRow> row(OperatorKind kind, const ParallelSpec& /*parallel*/) {
  using enum OperatorKind;
  switch (kind) {
    case dropout:
    case norm:
    case residual:
    case mla_down:
    case mla_norm:
    case router:
    case permute:
    case unpermute:
      return AxisRow{shard(Dim::sequence), kReplicate, shard(Dim::sequence)};
    default:
      // The learned position table is added to the whole sequence (megatron/core
      // language_model_embedding.py: words are summed over tp, then cut).
      return std::nullopt;
  }
}

}  // namespace

ShardingAxis sequence_parallel() {
  return {"sp", "cuts s of activations outside the tensor parallel region; needs tp", Axis::tp,
          [](const ParallelSpec& parallel) { return parallel.sp && parallel.tp > 1; }, row};
}

}  // namespace shardsim
