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

bool cuts(Placement placement, Dim dim) {
  if (placement.kind != Placement::Kind::shard) {
    return false;
  }
  return placement.dim == dim || (placement.dim == Dim::head && dim == Dim::kv_head);
}

// Ranks beyond the KV heads share them: each holds one.
std::int64_t parts_of(const SizedDim& dim, std::int64_t ranks) {
  return dim.dim == Dim::kv_head ? std::min(dim.size, ranks) : ranks;
}

constexpr std::array<Axis, 4> kDenseAxes{Axis::tp, Axis::cp, Axis::dp, Axis::pp};

}  // namespace

std::int64_t kv_sharers(const RunSpec& run) {
  return std::max<std::int64_t>(1, run.parallel.tp / run.model.kv_heads);
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
      tensor.dims, [&](const SizedDim& dim) { return cuts(placement, dim.dim); });
  return any || placement == kPartial ? placement : kReplicate;
}

std::vector<SizedDim> local_dims(const RunSpec& run, const Tensor& tensor) {
  std::vector<SizedDim> result = tensor.dims;
  for (const Axis axis : kDenseAxes) {
    const Placement placement = placement_of(run, tensor, axis);
    for (SizedDim& dim : result) {
      if (cuts(placement, dim.dim)) {
        const std::int64_t parts = parts_of(dim, axis_size(run.parallel, axis));
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
  for (const Axis axis : {Axis::tp, Axis::cp, Axis::dp}) {
    std::int64_t parts = 1;
    for (const SizedDim& dim : tensor.dims) {
      if (cuts(placement_of(run, tensor, axis), dim.dim)) {
        parts = parts_of(dim, axis_size(run.parallel, axis));
      }
    }
    result *= axis_size(run.parallel, axis) / parts;
  }
  return result;
}

}  // namespace shardsim
