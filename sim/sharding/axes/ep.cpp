// Expert parallelism (GShard, arXiv 2006.16668 section 3.1): each rank of a group holds some of the
// experts; tokens travel to them and back.
//
//                 needs        weight     yields
//   permute       own tokens   -          own tokens      --> Shard(token) -> Shard(E): all_to_all
//   expert *      by expert    by expert  by expert
//   unpermute     own tokens   -          own tokens      <-- Shard(E) -> Shard(token): all_to_all
#include "sharding/axes/axes.h"

namespace shardsim {
namespace {

std::optional<AxisRow> row(OperatorKind kind, const ParallelSpec& /*parallel*/) {
  if (is_expert(kind)) {
    return AxisRow{shard(Dim::expert), shard(Dim::expert), shard(Dim::expert)};
  }
  if (kind == OperatorKind::permute || kind == OperatorKind::unpermute) {
    return AxisRow{shard(Dim::token), kReplicate, shard(Dim::token)};
  }
  return std::nullopt;
}

}  // namespace

ShardingAxis expert_parallel() {
  return {"ep", "cuts E; tokens are sent to their experts and back", Axis::ep,
          [](const ParallelSpec& parallel) { return parallel.ep > 1; }, row};
}

}  // namespace shardsim
