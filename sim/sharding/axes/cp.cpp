// Context parallelism: the ranks of a cp group share the tokens everywhere, weights are whole.
//
// Attention alone looks across tokens. Under `a2a` (DeepSpeed-Ulysses, arXiv 2309.14509) it needs
// whole sequences and takes a share of the heads: Shard(s) -> Shard(head) before it and back after.
// Otherwise queries stay where they are and keys and values come to them block by block or all at
// once, inside the operator (workload/attention_kernels.h).
//   SP x CP: [b, s/(cp tp), h] outside tensor parallelism, [b, s/cp, h/tp] inside
#include "sharding/axes/axes.h"

namespace shardsim {
namespace {

std::optional<AxisRow> row(OperatorKind kind, const ParallelSpec& parallel) {
  const bool by_head = kind == OperatorKind::attention && parallel.cp_comm == CpComm::a2a;
  const Placement placed = shard(by_head ? Dim::head : Dim::sequence);
  return AxisRow{placed, kReplicate, placed};
}

}  // namespace

ShardingAxis context_parallel() {
  return {"cp", "cuts s of all activations; attention exchanges keys and values", Axis::cp,
          [](const ParallelSpec& parallel) { return parallel.cp > 1; }, row};
}

}  // namespace shardsim
