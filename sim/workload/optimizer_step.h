// The end of the step on one stage: gradients reduced (where not beside backward), replicated and
// tied gradients summed, the gradient norm, the optimizer, parameters gathered (where not beside
// the next forward). Order as in Megatron's finalize_model_grads and DistributedOptimizer.step.
#pragma once

#include "workload/chunk_pass.h"

namespace shardsim {

[[nodiscard]] PassTemplate step_end_pass(const RunSpec& run, const ModelChains& chains,
                                         const std::vector<Chunk>& chunks, ProgramTables& tables);

// Parameters of a stage whose gradients are unsummed over tp: whole weights that met a part of the
// tokens or heads (norms and output biases under SP; norms of queries and keys).
[[nodiscard]] std::int64_t tp_partial_parameters(const RunSpec& run,
                                                 const std::vector<Chunk>& chunks);

}  // namespace shardsim
