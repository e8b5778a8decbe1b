// All groups of one kind of communicator: who is in them and how they sit on the nodes.
//
// Members stand node by node, so that a ring crosses each node boundary as rarely as it can.
//   tp 8 on nodes of 8: one shape, {8 ranks, 1 node}; tp 8 on nodes of 6: {8 ranks, 2 nodes, 2..6}
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "platform/fabric.h"
#include "sharding/rank_grid.h"
#include "workload/program.h"

namespace shardsim {

// What algorithms may look at: equal for all groups that can behave alike.
struct GroupShape {
  std::int32_t ranks = 1;
  std::int32_t nodes = 1;
  std::int32_t min_per_node = 1;
  std::int32_t max_per_node = 1;
  // Distinct nodes and ranks that a token visits, of a group whose tokens go to each once; else 0.
  double nodes_per_token = 0;
  double ranks_per_token = 0;
  double copies_per_token = 0;  // of the buffer
  bool operator==(const GroupShape&) const = default;
};

// `gpus` sorted: GPUs of a node are consecutive numbers.
[[nodiscard]] GroupShape shape_of(const Fabric& fabric, std::span<const GpuId> gpus);

struct GroupKey {
  AxisSet axes = 0;
  bool end_stages_only = false;
  std::int32_t neighbours = 0;          // above 0: runs of so many members are groups of their own
  std::int32_t strided = 0;             // above 0: every so many-th member together
  bool mirrored_stages = false;         // pairs of stages i and pp - 1 - i (axes: pp)
  std::optional<TokenSpread> spread{};  // see Communication
  bool operator==(const GroupKey&) const = default;
};

struct Groups {
  GroupKey key;
  std::int32_t size = 1;                         // ranks of each group
  std::vector<Rank> members{};                   // group by group, by rising GPU
  std::vector<std::int32_t> group_of_rank{};     // -1: takes no part
  std::vector<std::int32_t> position_of_rank{};  // among the members of its group
  std::vector<std::int32_t> shape_of_group{};    // into shapes
  std::vector<GroupShape> shapes{};
  std::vector<std::int32_t> first_group_of_shape{};

  [[nodiscard]] std::span<const Rank> members_of(std::int32_t group) const {
    return std::span(members).subspan(
        static_cast<std::size_t>(group) * static_cast<std::size_t>(size),
        static_cast<std::size_t>(size));
  }
};

// Linear in ranks.
[[nodiscard]] Groups find_groups(const RankGrid& grid, const Fabric& fabric, const NodeMap& map,
                                 const GroupKey& key);

}  // namespace shardsim
