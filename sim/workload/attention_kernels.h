// The attention core of one rank: its kernels, and the exchange of keys and values under context
// parallelism that no transition explains.
//
// p2p (ring attention, arXiv 2310.01889; Transformer Engine, AttnFuncWithCPAndKVP2P): in each step
// but the last the keys and values at hand move on to the next rank, beside the attention of this
// step when overlap.cp is set, after it otherwise. Backward starts with the blocks of others and
// ends with the rank's own; gradients follow one step behind their keys and values:
//   forward, 4 ranks:   KV        KV        KV        -
//   backward:           KV        KV + dKV  KV + dKV  dKV
// so a rank sends (cp - 1) blocks of b s/cp 2 kv_heads/tp head_dim elements forward, 2 (cp - 1)
// backward. all_gather: keys and values are gathered before the core in either direction and their
// gradients reduce-scattered. a2a+p2p: heads exchanged around a ring that joins the neighbourhoods.
#pragma once

#include "workload/operator_kernels.h"

namespace shardsim {

[[nodiscard]] OperatorKernels attention_kernels(const RunSpec& run, std::int32_t kind);

// Bytes that a rank puts into an all-to-all of its queries, keys and values, or of the output.
[[nodiscard]] Bytes attention_input_bytes(const RunSpec& run);
[[nodiscard]] Bytes attention_output_bytes(const RunSpec& run);

}  // namespace shardsim
