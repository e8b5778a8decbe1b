// Lanes of the ranks' slots, made when a rank first needs them: numbered by rank, then slot.
#include <algorithm>
#include <limits>

#include "base/errors.h"
#include "lowering/job.h"

namespace shardsim {
namespace {

// Where a rank stands in a part of its group: which lane, and its place in that lane's ring.
struct Place {
  std::int32_t lane = 0;  // within the group
  std::int32_t index = 0;
};

Place place_in(const GroupShape& shape, Part part, std::int32_t position) {
  switch (part) {
    case Part::node:
      return {position / shape.max_per_node, position % shape.max_per_node};
    case Part::rail:
      return {position % shape.max_per_node, position / shape.max_per_node};
    case Part::ring:
    case Part::cycle:
    case Part::pairs:
    case Part::forwarded:
    case Part::scalar:
      return {0, position};
  }
  SHARDSIM_CHECK(false, "unknown part of a group");
}

class LaneBinder {
 public:
  LaneBinder(const LoweringJob& job, Lowered& lowered)
      : job_(job), lowered_(lowered), routes_(job.fabric) {}

  void bind(Rank rank, const SlotKey& key) { lowered_.slot_lanes.push_back(lane_of(rank, key)); }

 private:
  LaneId lane_of(Rank rank, const SlotKey& key) {
    switch (key.kind) {
      case SlotKey::Kind::send:
        return message_lane(rank, key);
      case SlotKey::Kind::recv:
        return message_lane(job_.grid.stage_neighbour(rank, -key.stage_offset), key);
      case SlotKey::Kind::collective:
        return collective_lane(rank, key);
      case SlotKey::Kind::ring_send:
        return edge_lane(rank, key, 0);
      case SlotKey::Kind::ring_recv:
        return edge_lane(rank, key, -1);
    }
    SHARDSIM_CHECK(false, "unknown kind of slot");
  }

  // Lanes that a kind of slot has made so far, by an index below `ranks`; -1 = not yet.
  struct Made {
    SlotKey key;
    std::vector<LaneId> lanes;
  };
  LaneId& made(const SlotKey& key, std::int64_t index) {
    auto found = std::find_if(made_.begin(), made_.end(),
                              [&](const Made& known) { return known.key == key; });
    if (found == made_.end()) {
      made_.push_back({key, std::vector<LaneId>(static_cast<std::size_t>(job_.grid.ranks()), -1)});
      found = made_.end() - 1;
    }
    return at(found->lanes, index);
  }
  [[nodiscard]] std::int32_t kind_of(const SlotKey& key) const {
    const auto found = std::find_if(made_.begin(), made_.end(),
                                    [&](const Made& known) { return known.key == key; });
    return static_cast<std::int32_t>(found - made_.begin());
  }

  LaneId add_lane(const SlotKey& key, const RouteSum& sum, bool with_links) {
    Lane lane{
        .kind = kind_of(key), .hop_latency = sum.hop_latency, .first_use = count(lowered_.uses)};
    SHARDSIM_CHECK(lowered_.uses.size() + sum.uses.size() <
                       static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
                   "too many links in all lanes together");
    if (with_links) {
      lowered_.uses.insert(lowered_.uses.end(), sum.uses.begin(), sum.uses.end());
      lane.use_count = count(sum.uses);
    }
    lowered_.lanes.push_back(lane);
    return count(lowered_.lanes) - 1;
  }

  LaneId message_lane(Rank sender, SlotKey key) {
    key.kind = SlotKey::Kind::send;
    LaneId& lane = made(key, sender);
    if (lane < 0) {
      const Rank receiver = job_.grid.stage_neighbour(sender, key.stage_offset);
      routes_.one_way(at(job_.map.gpu_of_rank, sender), at(job_.map.gpu_of_rank, receiver), sum_);
      lane = add_lane(key, sum_, true);
    }
    return lane;
  }

  // GPUs of a rank's lane, in ring order.
  void find_members(const Groups& groups, std::int32_t group, Part part, const Place& place) {
    const GroupShape& shape = at(groups.shapes, at(groups.shape_of_group, group));
    const auto members = groups.members_of(group);
    gpus_.clear();
    for (std::int32_t position = 0; position < groups.size; ++position) {
      if (place_in(shape, part, position).lane == place.lane) {
        gpus_.push_back(at(job_.map.gpu_of_rank, members[static_cast<std::size_t>(position)]));
      }
    }
  }

  [[nodiscard]] Place place_of(const Groups& groups, Rank rank, Part part) const {
    const std::int32_t group = at(groups.group_of_rank, rank);
    SHARDSIM_CHECK(group >= 0, "a rank uses a group that it is not in");
    return place_in(at(groups.shapes, at(groups.shape_of_group, group)), part,
                    at(groups.position_of_rank, rank));
  }

  LaneId collective_lane(Rank rank, const SlotKey& key) {
    const Groups& groups = at(job_.groups, key.groups);
    const std::int32_t group = at(groups.group_of_rank, rank);
    const Place place = place_of(groups, rank, key.part);
    LaneId& lane = made(key, std::int64_t{group} * groups.size + place.lane);
    if (lane < 0) {
      find_members(groups, group, key.part, place);
      sum_links(routes_, key.part, at(groups.shapes, at(groups.shape_of_group, group)), gpus_,
                sum_);
      lane = add_lane(key, sum_, key.part != Part::scalar);
    }
    return lane;
  }

  // The lane of one edge of a ring, from the rank `shift` places before this one to the next.
  LaneId edge_lane(Rank rank, const SlotKey& key, std::int32_t shift) {
    const Groups& groups = at(job_.groups, key.groups);
    const std::int32_t group = at(groups.group_of_rank, rank);
    const Place place = place_of(groups, rank, key.part);
    find_members(groups, group, key.part, place);
    const std::int32_t size = count(gpus_);
    const std::int32_t from = (place.index + shift + size) % size;
    const SlotKey edge{.kind = SlotKey::Kind::ring_send, .groups = key.groups, .part = key.part};
    LaneId& lane =
        made(edge, std::int64_t{group} * groups.size + std::int64_t{place.lane} * size + from);
    if (lane < 0) {
      routes_.one_way(at(gpus_, from), at(gpus_, (from + 1) % size), sum_);
      lane = add_lane(edge, sum_, true);
    }
    return lane;
  }

  const LoweringJob& job_;
  Lowered& lowered_;
  RouteSummer routes_;
  RouteSum sum_;
  std::vector<GpuId> gpus_;
  std::vector<Made> made_;
};

}  // namespace

void bind_lanes(const LoweringJob& job, const std::vector<RankKind>& kinds, Lowered& lowered) {
  LaneBinder binder(job, lowered);
  lowered.first_slot.reserve(lowered.program_of_rank.size() + 1);
  for (Rank rank = 0; rank < count(lowered.program_of_rank); ++rank) {
    lowered.first_slot.push_back(count(lowered.slot_lanes));
    for (const SlotKey& key : at(kinds, at(lowered.program_of_rank, rank)).slots) {
      binder.bind(rank, key);
    }
  }
  lowered.first_slot.push_back(count(lowered.slot_lanes));
}

}  // namespace shardsim
