#include "workload/software_memory.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "sharding/tensors.h"
#include "workload/low_precision.h"

namespace shardsim {
namespace {

std::int64_t layers_of(const std::vector<Chunk>& chunks) {
  std::int64_t layers = 0;
  for (const Chunk& chunk : chunks) {
    layers += chunk.layers;
  }
  return layers;
}

// Local elements of the weights of one product: queries, keys and values are one.
std::int64_t product_weights(const RunSpec& run, OperatorKind kind) {
  std::int64_t sum = 0;
  for (const Tensor& weight : operator_weights(run, kind)) {
    const bool is_matrix = weight.dims.size() > 1 && (weight.dims.front().dim == Dim::hidden ||
                                                      weight.dims.back().dim == Dim::hidden);
    sum += is_matrix ? local_elements(run, weight) : 0;
  }
  return sum;
}

constexpr std::array kLinear{OperatorKind::qkv, OperatorKind::attention_out, OperatorKind::up,
                             OperatorKind::down};

}  // namespace

Bytes gradient_placeholders(const RunSpec& run, const std::vector<Chunk>& chunks) {
  if (!run.stack.weight_gradient_placeholders) {
    return Bytes{};
  }
  std::int64_t elements = 0;
  for (const OperatorKind kind : kLinear) {
    elements += layers_of(chunks) > 0 ? product_weights(run, kind) : 0;
  }
  const bool head =
      std::any_of(chunks.begin(), chunks.end(), [](const Chunk& chunk) { return chunk.last; });
  elements += head ? product_weights(run, OperatorKind::head) : 0;
  return Bytes{checked_mul(elements, element_bytes(run.training.param_dtype))};
}

Bytes low_precision_weights(const RunSpec& run, const std::vector<Chunk>& chunks) {
  constexpr std::int64_t kCopies = 2;  // row- and column-wise, of one byte
  std::int64_t elements = 0;
  for (const OperatorKind kind : kLinear) {
    elements += uses_low_precision(run, kind) ? product_weights(run, kind) : 0;
  }
  return Bytes{checked_mul(checked_mul(elements, layers_of(chunks)), kCopies)};
}

}  // namespace shardsim
