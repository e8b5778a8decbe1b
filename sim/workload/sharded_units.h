// ZeRO 3 (FSDP) beside one pass: the weights of each unit gathered before its first use, the next
// unit's beside it, dropped after its last use; its gradients reduced once they are complete.
//
// Units are the embedding, each layer and the head (torchtitan wraps so; with tied embeddings on
// one stage the head uses the embedding's unit too). A pass is a row of segments, each of which
// uses some units. Gathers and reductions share the dp stream, as one communicator runs them in
// order:
//
//   backward   compute   | layer 2    | layer 1      | layer 0      |
//              dp        | AG1        | RS2  AG0     | RS1          | RS0
// The gather of the next unit waits for all compute before this one's segment (implicit prefetch
// of one unit: torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py); without
// overlap.param_gather each gather waits until its unit is needed, without overlap.grad_reduce
// compute waits for each reduction.
//
// Memory: a gathered unit from the start of its gather to the end of its last use; its whole
// gradients, in grad_dtype, from the start of its backward to the end of the reduction.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/data_sync.h"
#include "workload/pass_builder.h"

namespace shardsim {

struct UnitSegment {
  std::vector<std::int32_t> units;
  bool gradients = false;  // leaves gradients of the units' weights
};

class ShardedUnits {
 public:
  // `parameters` of each unit, local to the rank. With nothing to do, all calls do nothing.
  ShardedUnits(const RunSpec& run, std::vector<LocalParameters> parameters,
               std::vector<UnitSegment> segments, PassSync sync);

  void begin(PassBuilder& pass);  // before the pass's own begin: what its first segment needs
  void enter(PassBuilder& pass);  // the next segment starts
  void leave(PassBuilder& pass);  // it has ended

 private:
  struct Unit {
    LocalParameters parameters{};
    std::int32_t gather = -1;  // operation, -1 = not gathered in this pass
    bool waited = false;
    bool has_gradients = false;
    std::size_t last_use = 0;        // segment
    std::size_t last_gradients = 0;  // segment
  };
  [[nodiscard]] bool wants_gather(const Unit& unit) const;
  void gather(Unit& unit, const std::vector<std::int32_t>& deps, StreamMask join,
              PassBuilder& pass);
  void prefetch(const std::vector<std::int32_t>& deps, PassBuilder& pass);
  void reduce(const Unit& unit, PassBuilder& pass);

  const RunSpec& run_;
  std::vector<UnitSegment> segments_;
  PassSync sync_;
  std::vector<Unit> units_;
  std::size_t next_ = 0;  // segment
};

}  // namespace shardsim
