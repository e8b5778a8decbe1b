// The chains of operators on one rank: steps of each, the communication derived between them, what
// they save for backward and how many weights they hold.
#pragma once

#include <vector>

#include "sharding/tensors.h"
#include "workload/operator_kernels.h"

namespace shardsim {

struct Transition {  // between a producer and a consumer; primitive none: nothing moves
  Communication forward;
  Communication backward;  // the gradient, from the consumer back
  Communication stored;    // makes the stored slice of the input whole for the consumer's wgrad
};

struct SavedBytes {  // a tensor that forward leaves for backward, on one rank
  std::string what;
  SavedAs as = SavedAs::other;
  Bytes bytes{};
};

struct Operator {
  OperatorKind kind = OperatorKind::norm;
  OperatorKernels kernels;
  Transition input;         // from the operator before it in the chain
  std::int32_t beside = 0;  // so many operators before it run beside its input's communication
  std::vector<SavedBytes> saved;
  std::int64_t parameters = 0;  // local
};
using Chain = std::vector<Operator>;

// What overlap.ep puts beside dispatch and combine: under dualpipe a forward beside a backward, as
// its schedule pairs them (workload/pair_pass.h); else the shared experts.
[[nodiscard]] bool pairs_passes(const RunSpec& run);
[[nodiscard]] bool runs_shared_beside(const RunSpec& run);

[[nodiscard]] Bytes saved_bytes(const Operator& op);

[[nodiscard]] Chain layer_chain(const RunSpec& run, LayerKind layer = LayerKind::dense,
                                const RankVariant& variant = {});
// The projection and the layer of a multi-token prediction, without its embedding and head.
[[nodiscard]] Chain mtp_chain(const RunSpec& run, const RankVariant& variant = {});
[[nodiscard]] Chain embedding_chain(const RunSpec& run);
// Tied embeddings on one stage share the embedding's table: the head then has no parameters.
[[nodiscard]] Chain head_chain(const RunSpec& run);

[[nodiscard]] Transition transition_between(const RunSpec& run, OperatorKind producer,
                                            OperatorKind consumer, const RankVariant& variant = {});

// The activation between layers of one micro batch: b * s * h elements (s / cp of them under cp).
[[nodiscard]] Bytes hidden_bytes(const RunSpec& run);
[[nodiscard]] bool on_cp(const Communication& communication);
// Category of a communication on the tp group: sp for what sequence parallelism made of it.
[[nodiscard]] Category tp_category(const RunSpec& run, const Communication& communication);

[[nodiscard]] std::int64_t chain_parameters(const Chain& chain);

// The stream that a communication of a chain runs on: that of the axes of its group.
[[nodiscard]] Stream stream_of(const Communication& communication);
// Streams other than compute that a layer's operations run on.
[[nodiscard]] StreamMask layer_streams(const RunSpec& run);
[[nodiscard]] Category category_of(const RunSpec& run, const Communication& communication);

}  // namespace shardsim
