// Plain integer names of things, each an index into the vector that holds them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardsim {

using Rank = std::int32_t;    // global rank of the job, 0 .. gpus-1
using GpuId = std::int32_t;   // physical slot: node * gpus_per_node + local index
using NodeId = std::int32_t;  // physical node
using LinkId = std::int32_t;  // directed link of a Fabric
using LaneId = std::int32_t;  // communicator with one link list, of a Lowered job

// Index conversion without sign warnings: at(v, rank).
template <class Vector, class Index>
[[nodiscard]] constexpr auto& at(Vector& vector, Index index) {
  return vector[static_cast<std::size_t>(index)];
}
template <class Vector>
[[nodiscard]] constexpr std::int32_t count(const Vector& vector) {
  return static_cast<std::int32_t>(vector.size());
}

}  // namespace shardsim
