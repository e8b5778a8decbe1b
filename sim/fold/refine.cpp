// Colour refinement on the graph ranks - lanes - links with labelled edges.
//
// Each round recolours a lane by the multisets of (slot, rank colour) and (link colour, weight), a
// rank by the ordered list of its slots' lane colours, and a link by the summed weight of each lane
// colour that crosses it, until no number of colours grows. The slot labels are needed: a lane
// {r1.send, r2.recv} is not {r3.send, r4.send}. Multisets are 64-bit sums of mixed colours;
// check_partition compares exactly afterwards, so a collision cannot pass.
//
// Links that the topology says cannot bind take no part (they would split classes that behave
// alike); they are classed at the end by what they carry.
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "fold/fold.h"

namespace shardsim {
namespace {

// The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): spreads every bit over all.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ b); }
std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value + 0.0); }
template <class Integer>
requires std::is_integral_v<Integer> std::uint64_t bits(Integer value) {
  return static_cast<std::uint64_t>(value);
}

enum Role : std::uint64_t { kRankOfLane = 1, kLinkOfLane = 2, kLaneOfLink = 3 };
std::uint64_t coloured(Role role, std::int32_t colour) { return mix(role, bits(colour)); }

// Numbers 64-bit keys 0, 1, 2, ... by first occurrence: a hash table with open addressing.
class Numbering {
 public:
  explicit Numbering(std::size_t most) : slots_(std::bit_ceil(2 * most + 2)) {}

  void clear() {
    slots_.assign(slots_.size(), {});
    count_ = 0;
  }
  std::int32_t number(std::uint64_t key) {
    std::size_t place = static_cast<std::size_t>(key) & (slots_.size() - 1);
    while (slots_[place].number >= 0 && slots_[place].key != key) {
      place = (place + 1) & (slots_.size() - 1);
    }
    if (slots_[place].number < 0) {
      slots_[place] = {key, count_++};
    }
    return slots_[place].number;
  }
  [[nodiscard]] std::int32_t count() const { return count_; }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::int32_t number = -1;
  };
  std::vector<Entry> slots_;
  std::int32_t count_ = 0;
};

class Refinement {
 public:
  Refinement(const Lowered& lowered, EdgeLabels labels)
      : lowered_(lowered),
        labelled_(labels == EdgeLabels::slots),
        rank_numbers_(lowered.program_of_rank.size()),
        lane_numbers_(lowered.lanes.size()),
        link_numbers_(lowered.link_capacity.size()),
        lane_keys_(lowered.lanes.size()),
        link_keys_(lowered.link_capacity.size()) {
    colour_first();
  }

  Partition run() {
    std::int64_t before = -1;
    for (std::int64_t now = colours(); now != before; now = colours()) {
      before = now;
      recolour_lanes();
      recolour_ranks();
      recolour_links();
    }
    class_links();
    return {.ranks = std::move(ranks_), .lanes = std::move(lanes_), .links = std::move(links_)};
  }

 private:
  [[nodiscard]] std::int64_t colours() const {
    return std::int64_t{rank_numbers_.count()} + lane_numbers_.count() + link_numbers_.count();
  }

  [[nodiscard]] bool binds(LinkId link) const { return at(lowered_.link_can_bind, link) != 0; }

  void colour_first() {
    for (std::size_t rank = 0; rank < lowered_.program_of_rank.size(); ++rank) {
      ranks_.push_back(rank_numbers_.number(
          mix(bits(lowered_.program_of_rank[rank]), bits(lowered_.speed_of_rank[rank]))));
    }
    for (const Lane& lane : lowered_.lanes) {
      lanes_.push_back(lane_numbers_.number(mix(bits(lane.kind), bits(lane.hop_latency.value()))));
    }
    links_.assign(lowered_.link_capacity.size(), -1);
    std::vector<std::uint8_t> used(links_.size(), false);
    for (const LinkUse& use : lowered_.uses) {
      at(used, use.link) = true;
    }
    for (std::int32_t link = 0; link < shardsim::count(links_); ++link) {
      if (at(used, link) && binds(link)) {
        at(links_, link) =
            link_numbers_.number(mix(bits(at(lowered_.link_capacity, link).value())));
      }
    }
  }

  void recolour_lanes() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const Lane& row = lowered_.lanes[lane];
      std::uint64_t sum = mix(bits(lanes_[lane]));
      for (std::int32_t u = 0; u < row.use_count; ++u) {
        const LinkUse& use = at(lowered_.uses, row.first_use + u);
        if (binds(use.link)) {
          sum += mix(coloured(kLinkOfLane, at(links_, use.link)), bits(use.weight));
        }
      }
      lane_keys_[lane] = sum;
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const std::uint64_t colour = coloured(kRankOfLane, ranks_[rank]);
      const std::int32_t first = lowered_.first_slot[rank];
      const std::int32_t last = lowered_.first_slot[rank + 1];
      for (std::int32_t s = first; s < last; ++s) {
        at(lane_keys_, at(lowered_.slot_lanes, s)) += mix(colour, labelled_ ? bits(s - first) : 0);
      }
    }
    lane_numbers_.clear();
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      lanes_[lane] = lane_numbers_.number(lane_keys_[lane]);
    }
  }

  void recolour_ranks() {
    rank_numbers_.clear();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      std::uint64_t key = mix(bits(ranks_[rank]));
      const std::int32_t last = lowered_.first_slot[rank + 1];
      for (std::int32_t s = lowered_.first_slot[rank]; s < last; ++s) {
        const std::uint64_t lane = bits(at(lanes_, at(lowered_.slot_lanes, s)));
        key = labelled_ ? mix(key, lane) : key + mix(lane);
      }
      ranks_[rank] = rank_numbers_.number(key);
    }
  }

  // Adds what each link carries to its key: weights of one lane colour add up.
  void add_carried() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const std::uint64_t colour = coloured(kLaneOfLink, lanes_[lane]);
      const Lane& row = lowered_.lanes[lane];
      for (std::int32_t u = 0; u < row.use_count; ++u) {
        const LinkUse& use = at(lowered_.uses, row.first_use + u);
        at(link_keys_, use.link) += colour * bits(use.weight);
      }
    }
  }

  void recolour_links() {
    for (std::size_t link = 0; link < links_.size(); ++link) {
      link_keys_[link] = mix(bits(links_[link]));
    }
    add_carried();
    link_numbers_.clear();
    for (std::size_t link = 0; link < links_.size(); ++link) {
      if (links_[link] >= 0) {
        links_[link] = link_numbers_.number(link_keys_[link]);
      }
    }
  }

  // Final classes of all links that are used, by first occurrence; those that cannot bind by their
  // capacity and what they carry.
  void class_links() {
    std::vector<std::uint8_t> used(links_.size(), false);
    for (std::size_t link = 0; link < links_.size(); ++link) {
      link_keys_[link] = links_[link] >= 0 ? mix(1, bits(links_[link]))
                                           : mix(2, bits(lowered_.link_capacity[link].value()));
    }
    add_carried();
    for (const LinkUse& use : lowered_.uses) {
      at(used, use.link) = true;
    }
    link_numbers_.clear();
    for (std::size_t link = 0; link < links_.size(); ++link) {
      links_[link] = used[link] ? link_numbers_.number(link_keys_[link]) : -1;
    }
  }

  const Lowered& lowered_;
  bool labelled_;
  std::vector<std::int32_t> ranks_;
  std::vector<std::int32_t> lanes_;
  std::vector<std::int32_t> links_;
  Numbering rank_numbers_;
  Numbering lane_numbers_;
  Numbering link_numbers_;
  std::vector<std::uint64_t> lane_keys_;
  std::vector<std::uint64_t> link_keys_;
};

}  // namespace

Partition refine(const Lowered& lowered, EdgeLabels labels) {
  return Refinement(lowered, labels).run();
}

}  // namespace shardsim
