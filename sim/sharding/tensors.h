// The weights and saved activations of a model with their full shapes, and what one rank holds.
//
// Full shapes are those of the whole job: batch = dp * micro, vocabulary padded. A dimension that
// an axis cuts is divided by the axis' size; the division is exact (checked by spec's validation).
// KV heads fewer than tp go by kv_strategy:
//   shared     each rank holds one head, tp / kv_heads ranks the same, weights and activations
//   replicate  each rank holds and computes all KV heads
//   gather     weights are cut to 1/tp all the same, heads and then head_dim; the products are
//              gathered, after which each rank keeps the one head it needs
//   llama3-70b, tp 4: q weight [h 8192, head 64, head_dim 128] -> local [8192, 16, 128]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "sharding/operators.h"
#include "sharding/placement.h"
#include "spec/run_spec.h"

namespace shardsim {

struct SizedDim {
  Dim dim;
  std::int64_t size;
  bool operator==(const SizedDim&) const = default;
};

enum class Port : std::uint8_t { input, weight, output };

// A tensor of an operator; where it is cut follows from the operator's row at that port.
struct Tensor {
  std::string name;
  OperatorKind op;
  Port port;
  std::vector<SizedDim> dims;  // full
  std::int64_t element_bytes;
};

// When backward needs a tensor again, what it takes to have it: see Recompute.
enum class SavedAs : std::uint8_t {
  layer_input,  // kept even where the layer is recomputed
  core,         // inside the attention core
  other,
};
struct SavedTensor {
  Tensor tensor;
  SavedAs as = SavedAs::other;
  std::int32_t place = 0;  // operator in layer_operators / embedding_operators / head_operators
};

// Smallest multiple of 128 * tp that holds the vocabulary (Megatron, build_tokenizer), or the
// vocabulary itself without training.pad_vocab.
[[nodiscard]] std::int64_t padded_vocab(const RunSpec& run);

// Whether ranks share KV heads at all, and if so whether their products are gathered over tp.
[[nodiscard]] bool kv_heads_are_short(const RunSpec& run);
[[nodiscard]] bool gathers_qkv(const RunSpec& run);
// Ranks that hold the same KV head and only their own part of its gradient: neighbours along tp;
// 1 where tp does not exceed the KV heads, and under strategies that sum otherwise.
[[nodiscard]] std::int64_t kv_sharers(const RunSpec& run);

// Weights of one operator. The head's are here also when tied.
[[nodiscard]] std::vector<Tensor> operator_weights(const RunSpec& run, OperatorKind kind);

// What forward leaves for backward in one layer, the embedding and the head. Tensors that two
// operators share are listed once; statistics of norms (8 B a token) are left out, as in
// Korthikanti et al., arXiv 2205.05198 section 4.1.
[[nodiscard]] std::vector<SavedTensor> layer_saved(const RunSpec& run,
                                                   LayerKind layer = LayerKind::dense);
[[nodiscard]] std::vector<SavedTensor> mtp_saved(const RunSpec& run);
[[nodiscard]] std::vector<SavedTensor> embedding_saved(const RunSpec& run);
[[nodiscard]] std::vector<SavedTensor> head_saved(const RunSpec& run);

// Placement of the tensor along a grid axis, Replicate where its dimensions are not cut.
[[nodiscard]] Placement placement_of(const RunSpec& run, const Tensor& tensor, Axis axis);
[[nodiscard]] std::vector<SizedDim> local_dims(const RunSpec& run, const Tensor& tensor);
[[nodiscard]] std::int64_t elements(const std::vector<SizedDim>& dims);
[[nodiscard]] std::int64_t local_elements(const RunSpec& run, const Tensor& tensor);
[[nodiscard]] Bytes local_bytes(const RunSpec& run, const Tensor& tensor);
// Ranks that hold the same slice: of a stage's tp * cp * dp ranks.
[[nodiscard]] std::int64_t copies(const RunSpec& run, const Tensor& tensor);

}  // namespace shardsim
