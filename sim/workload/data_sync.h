// What data parallelism does when: for each pass of a stage, whether parameters are gathered and
// gradients reduced beside it, and the communications of both.
//
//   ZeRO 0     all_reduce of gradients once a step
//   ZeRO 1     reduce_scatter of gradients once a step, all_gather of parameters
//   ZeRO 2     the same, but reduce_scatter after each micro batch: only shards are kept
//   ZeRO 3     (FSDP) weights too are sharded: all_gather of each unit in forward, again in
//              backward unless they are kept, reduce_scatter of its gradients per micro batch
// A group smaller than dp * cp shares the state among neighbours; the copies of a shard are then
// summed by an all_reduce among every zero_group-th rank (HSDP, PyTorch's HYBRID_SHARD; Megatron's
// num_distributed_optimizer_instances).
// Sources: Rajbhandari et al., arXiv 1910.02054 sections 5 and 7; Zhao et al., arXiv 2304.11277;
// torch/distributed/fsdp/_fully_shard.
#pragma once

#include <vector>

#include "workload/program.h"

namespace shardsim {

struct LocalParameters {    // of one rank
  std::int64_t dense = 0;   // summed over dp and cp
  std::int64_t expert = 0;  // summed over edp
  [[nodiscard]] std::int64_t total() const { return dense + expert; }
};

// Axes larger than 1 over which gradients are summed: dp and cp, of experts edp; and their ranks.
[[nodiscard]] AxisSet data_group(const RunSpec& run, bool expert = false);
[[nodiscard]] std::int64_t data_ranks(const RunSpec& run, bool expert = false);
// What a rank holds of its parameters when they are spread over the ranks that share the state:
// zero_group of them, of experts all of edp.
[[nodiscard]] std::int64_t held_of(const RunSpec& run, LocalParameters parameters, bool sharded);

[[nodiscard]] bool shards_weights(const RunSpec& run);  // ZeRO 3 over more than one rank
[[nodiscard]] bool reduces_each_micro_batch(const RunSpec& run);
[[nodiscard]] bool gathers_parameters(const RunSpec& run);  // once a step: ZeRO 1 and 2
[[nodiscard]] bool gathers_beside_forward(const RunSpec& run);
[[nodiscard]] bool reduces_beside_backward(const RunSpec& run);
// Ranks over which the gradients that a step leaves are spread when the last backward has ended.
[[nodiscard]] std::int64_t gradient_shards(const RunSpec& run);

// Number format in which weights are gathered: under ZeRO 3 that of the layers' products, bf16 for
// fp32 weights of a bf16 run (FSDP's mixed precision); else their own.
[[nodiscard]] Precision gathered_dtype(const RunSpec& run);

// Of so many parameters: reduce_scatter or all_reduce, then the sum over copies if any.
// Experts apart; nothing for what no other rank has.
[[nodiscard]] std::vector<Communication> gradient_reduce(const RunSpec& run,
                                                         LocalParameters parameters);
[[nodiscard]] std::vector<Communication> parameter_gather(const RunSpec& run,
                                                          LocalParameters parameters);
// Bytes of what gradient_reduce reduces, before, and of what parameter_gather gathers, after.
[[nodiscard]] Bytes whole_gradients(const RunSpec& run, LocalParameters parameters);
[[nodiscard]] Bytes gathered_weights(const RunSpec& run, LocalParameters parameters);

struct PassSync {         // data-parallel work beside one pass
  bool gathers = false;   // parameters: ZeRO 1 and 2 by bucket, ZeRO 3 unit by unit
  bool releases = false;  // ZeRO 3: a unit is dropped after its last use in this pass
  bool reduces = false;   // gradients
  bool operator==(const PassSync&) const = default;
};

struct SyncedPass {  // what data parallelism needs to know of a pass
  PassKind kind = PassKind::forward;
  std::int32_t chunk = 0;
  bool weights_done = false;  // leaves gradients of weights: backward that is not split, or weight
};
[[nodiscard]] std::vector<PassSync> plan_data_sync(const RunSpec& run,
                                                   const std::vector<SyncedPass>& passes);

}  // namespace shardsim
