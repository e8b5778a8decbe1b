#include "sharding/tensors.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "sharding/derive.h"

namespace shardsim {
namespace {

Placement at_port(const AxisRow& row, Port port) {
  switch (port) {
    case Port::input:
      return row.needs;
    case Port::weight:
      return row.weight;
    case Port::output:
      return row.yields;
  }
  SHARDSIM_CHECK(false, "port without a placement");
}

// KV heads are cut with the heads, except where every rank holds all of them; a gathered weight of
// fewer heads than ranks is cut further, along head_dim.
bool cuts(const RunSpec& run, const Tensor& tensor, Placement placement, Dim dim) {
  if (placement.kind != Placement::Kind::shard) {
    return false;
  }
  if (dim == Dim::token) {
    return placement.dim == Dim::token || placement.dim == Dim::batch ||
           placement.dim == Dim::sequence || placement.dim == Dim::expert;
  }
  if (placement.dim != Dim::head || (dim != Dim::kv_head && dim != Dim::head_dim)) {
    return placement.dim == dim;
  }
  if (dim == Dim::kv_head) {
    return !kv_heads_are_short(run) || run.parallel.kv_strategy != KvStrategy::replicate;
  }
  const bool of_keys = std::ranges::any_of(
      tensor.dims, [](const SizedDim& sized) { return sized.dim == Dim::kv_head; });
  return of_keys && gathers_qkv(run) && tensor.port == Port::weight;
}

// Ranks beyond the KV heads share them: each holds one, or a part of one.
std::int64_t parts_of(const RunSpec& run, const SizedDim& dim, std::int64_t ranks) {
  switch (dim.dim) {
    case Dim::kv_head:
      return std::min(dim.size, ranks);
    case Dim::head_dim:
      return std::max<std::int64_t>(1, ranks / run.model.kv_heads);
    default:
      return ranks;
  }
}

}  // namespace

bool kv_heads_are_short(const RunSpec& run) {
  return !run.model.mla && run.model.kv_heads < run.parallel.tp;
}

bool gathers_qkv(const RunSpec& run) {
  return kv_heads_are_short(run) && run.parallel.kv_strategy == KvStrategy::gather;
}

std::int64_t kv_sharers(const RunSpec& run) {
  const bool shared = kv_heads_are_short(run) && run.parallel.kv_strategy == KvStrategy::shared;
  return shared ? run.parallel.tp / run.model.kv_heads : 1;
}

std::int64_t padded_vocab(const RunSpec& run) {
  if (!run.training.pad_vocab) {
    return run.model.vocab;
  }
  const std::int64_t multiple = 128 * run.parallel.tp;
  return (run.model.vocab + multiple - 1) / multiple * multiple;
}

Placement placement_of(const RunSpec& run, const Tensor& tensor, Axis axis) {
  const Placement placement = at_port(row_of(run.parallel, axis, tensor.op), tensor.port);
  const bool any = std::ranges::any_of(
      tensor.dims, [&](const SizedDim& dim) { return cuts(run, tensor, placement, dim.dim); });
  return any || placement == kPartial ? placement : kReplicate;
}

std::vector<SizedDim> local_dims(const RunSpec& run, const Tensor& tensor) {
  std::vector<SizedDim> result = tensor.dims;
  for (const Axis axis : axes_of(tensor.op)) {
    const Placement placement = placement_of(run, tensor, axis);
    for (SizedDim& dim : result) {
      if (cuts(run, tensor, placement, dim.dim)) {
        const std::int64_t parts = parts_of(run, dim, axis_size(run.parallel, axis));
        SHARDSIM_CHECK(dim.size % parts == 0,
                       tensor.name + " does not divide along " + std::string(name(dim.dim)));
        dim.size /= parts;
      }
    }
  }
  return result;
}

std::int64_t elements(const std::vector<SizedDim>& dims) {
  std::int64_t product = 1;
  for (const SizedDim& dim : dims) {
    product = checked_mul(product, dim.size);
  }
  return product;
}

std::int64_t local_elements(const RunSpec& run, const Tensor& tensor) {
  return elements(local_dims(run, tensor));
}

Bytes local_bytes(const RunSpec& run, const Tensor& tensor) {
  return Bytes{checked_mul(local_elements(run, tensor), tensor.element_bytes)};
}

std::int64_t copies(const RunSpec& run, const Tensor& tensor) {
  std::int64_t result = 1;
  for (const Axis axis : axes_of(tensor.op)) {
    if (axis == Axis::pp) {
      continue;
    }
    std::int64_t parts = 1;
    for (const SizedDim& dim : tensor.dims) {
      if (cuts(run, tensor, placement_of(run, tensor, axis), dim.dim)) {
        parts *= parts_of(run, dim, axis_size(run.parallel, axis));
      }
    }
    result *= axis_size(run.parallel, axis) / parts;
  }
  return result;
}

}  // namespace shardsim
