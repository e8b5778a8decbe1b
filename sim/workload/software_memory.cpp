#include "workload/software_memory.h"

#include <algorithm>
#include <set>

#include "base/errors.h"
#include "base/ids.h"
#include "sharding/tensors.h"
#include "workload/low_precision.h"

namespace shardsim {
namespace {

struct Product {  // a weight that one matrix product uses, on this rank
  std::int64_t in;
  std::int64_t out;
  std::int64_t copies;  // local experts
  auto operator<=>(const Product&) const = default;
};

// Row-parallel weights end in the dimension that the product yields, the others begin with the one
// that it sums over; experts stand before both.
bool ends_in_output(OperatorKind kind) {
  using enum OperatorKind;
  return kind == attention_out || kind == down || kind == shared_down || kind == expert_down;
}

bool is_matrix(const Tensor& weight) {  // rather than a bias or the scale of a norm
  return weight.dims.size() > 1 &&
         (weight.dims.front().dim == Dim::hidden || weight.dims.back().dim == Dim::hidden ||
          weight.dims.front().dim == Dim::latent || weight.dims.front().dim == Dim::expert);
}

Product product_of(const RunSpec& run, const Tensor& weight) {
  const std::vector<SizedDim> dims = local_dims(run, weight);
  const bool experts = dims.front().dim == Dim::expert;
  const std::int64_t copies = experts ? dims.front().size : 1;
  const std::int64_t whole = elements(dims) / copies;
  if (ends_in_output(weight.op)) {
    return {whole / dims.back().size, dims.back().size, copies};
  }
  const std::int64_t in = at(dims, experts ? 1 : 0).size;
  return {in, whole / in, copies};
}

// Queries, keys and values are one product; under latent attention they are two.
std::vector<Product> products(const RunSpec& run, OperatorKind kind) {
  std::vector<Product> result;
  for (const Tensor& weight : operator_weights(run, kind)) {
    if (!is_matrix(weight)) {
      continue;
    }
    const Product product = product_of(run, weight);
    if (kind == OperatorKind::qkv && !result.empty()) {
      result.back().out += product.out;
    } else {
      result.push_back(product);
    }
  }
  return result;
}

std::vector<Product> layer_products(const RunSpec& run, LayerKind layer) {
  std::vector<Product> result;
  for (const OperatorKind kind : layer_operators(run.model, layer)) {
    if (is_block_linear(kind)) {
      const std::vector<Product> more = products(run, kind);
      result.insert(result.end(), more.begin(), more.end());
    }
  }
  return result;
}

}  // namespace

Bytes gradient_placeholders(const RunSpec& run, const std::vector<Chunk>& chunks) {
  if (!run.stack.weight_gradient_placeholders) {
    return Bytes{};
  }
  std::set<Product> distinct;
  const auto add = [&distinct](const std::vector<Product>& more) {
    for (const Product& product : more) {
      distinct.insert({product.in, product.out, 1});
    }
  };
  for (const Chunk& chunk : chunks) {
    for (const LayerKind layer : chunk.kinds) {
      add(layer_products(run, layer));
    }
    if (chunk.last) {
      add(products(run, OperatorKind::head));
    }
    if (chunk.mtp > 0) {
      add(products(run, OperatorKind::mtp_projection));
      add(layer_products(run, mtp_layer_kind(run.model)));
    }
  }
  std::int64_t held = 0;
  for (const Product& product : distinct) {
    held = checked_add(held, checked_mul(product.in, product.out));
  }
  return Bytes{checked_mul(held, element_bytes(run.training.param_dtype))};
}

Bytes low_precision_weights(const RunSpec& run, const std::vector<Chunk>& chunks) {
  constexpr std::int64_t kCopies = 2;  // row- and column-wise, of one byte
  if (!is_low(run.training.precision) || run.parallel.zero == 3) {
    return Bytes{};
  }
  std::int64_t held = 0;
  const auto add = [&](LayerKind layer, std::int64_t times) {
    for (const Product& product : layer_products(run, layer)) {
      const std::int64_t weights = checked_mul(product.in, product.out);
      held = checked_add(held, checked_mul(checked_mul(weights, product.copies), times));
    }
  };
  for (const Chunk& chunk : chunks) {
    for (const LayerKind layer : chunk.kinds) {
      add(layer, 1);
    }
    add(mtp_layer_kind(run.model), chunk.mtp);
  }
  return Bytes{checked_mul(held, kCopies)};
}

}  // namespace shardsim
