#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <iterator>

#include "base/errors.h"
#include "fold/fold.h"

namespace shardsim {
namespace {

// What one slot of a program does in a step, as a digest: how many flows, and their costs in order.
struct SlotDigest {
  std::int64_t flows = 0;
  std::uint64_t costs = 0;
  bool operator==(const SlotDigest&) const = default;
};

void add(SlotDigest& digest, const LoweredOp& op) {
  ++digest.flows;
  for (const double cost : {op.duration.value(), op.steps, op.amount}) {
    digest.costs = (digest.costs ^ std::bit_cast<std::uint64_t>(cost)) * 0x100000001b3ULL;  // FNV
    digest.costs ^= digest.costs >> 29;
  }
}

std::vector<SlotDigest> slot_digests(const Folded& folded, const LoweredProgram& program) {
  std::vector<SlotDigest> digests(program.slots.size());
  for (const LoweredPass& pass : program.passes) {
    for (const LoweredOp& op : at(folded.templates, pass.pass_template).ops) {
      if (op.is_flow) {
        add(at(digests, op.slot), op);
      }
    }
  }
  return digests;
}

void check_members(const Folded& folded) {
  std::vector<std::vector<SlotDigest>> digests;
  for (const LoweredProgram& program : folded.programs) {
    digests.push_back(slot_digests(folded, program));
  }
  const auto digest = [&](const LaneMember& member) -> const SlotDigest& {
    const std::int32_t program = at(folded.ranks, member.rank_class).program;
    return at(at(digests, program), member.slot);
  };
  for (std::int32_t lane = 0; lane < count(folded.lanes); ++lane) {
    const LaneClass& row = at(folded.lanes, lane);
    for (std::int32_t m = 1; m < row.member_count; ++m) {
      const LaneMember& first = at(folded.members, row.first_member);
      const LaneMember& other = at(folded.members, row.first_member + m);
      const SlotDigest& a = digest(first);
      const SlotDigest& b = digest(other);
      SHARDSIM_CHECK(a == b,
                     fmt::format("ranks {} ({} flows) and {} ({} flows) use lane {} differently",
                                 at(folded.ranks, first.rank_class).representative, a.flows,
                                 at(folded.ranks, other.rank_class).representative, b.flows, lane));
    }
  }
}

void check_ranges(const Folded& folded) {
  for (const RankClass& rank : folded.ranks) {
    SHARDSIM_CHECK(rank.size > 0 && rank.speed > 0 && rank.first_slot >= 0 &&
                       rank.first_slot + rank.slot_count <= count(folded.slot_lanes) &&
                       rank.slot_count == count(at(folded.programs, rank.program).slots),
                   "a rank class is malformed");
  }
  for (const LaneClass& lane : folded.lanes) {
    SHARDSIM_CHECK(lane.size > 0 && lane.member_count > 0 && lane.first_member >= 0 &&
                       lane.first_member + lane.member_count <= count(folded.members) &&
                       lane.first_use >= 0 && lane.first_use + lane.use_count <= count(folded.uses),
                   "a lane class is malformed");
    SHARDSIM_CHECK((lane.bound_link < 0) == std::isinf(lane.pace_alone.value()),
                   "a lane class has a pace and no link for it");
  }
  for (const LinkUse& use : folded.uses) {
    SHARDSIM_CHECK(use.link >= 0 && use.link < count(folded.rows) && use.weight > 0,
                   "a lane class uses an unknown row");
  }
  for (const LinkRow& row : folded.rows) {
    SHARDSIM_CHECK(
        row.link_class >= 0 && row.link_class < count(folded.links) && row.capacity.value() > 0,
        "a row has no link or no capacity");
  }
  SHARDSIM_CHECK(folded.first_load.size() == folded.lanes.size() + 1, "loads are malformed");
}

}  // namespace

void check_folded(const Folded& folded) {
  check_ranges(folded);
  check_members(folded);
}

std::string dump_folded(const Folded& folded) {
  std::string out;
  auto to = std::back_inserter(out);
  for (std::int32_t i = 0; i < count(folded.ranks); ++i) {
    const RankClass& rank = at(folded.ranks, i);
    fmt::format_to(to, "rank class {}: {} ranks like {}, program {}, speed {:.9g}, lanes", i,
                   rank.size, rank.representative, rank.program, rank.speed);
    for (std::int32_t s = 0; s < rank.slot_count; ++s) {
      fmt::format_to(to, " {}", at(folded.slot_lanes, rank.first_slot + s));
    }
    out += '\n';
  }
  for (std::int32_t i = 0; i < count(folded.lanes); ++i) {
    const LaneClass& lane = at(folded.lanes, i);
    fmt::format_to(to, "lane class {}: {} lanes like {}, hop {:.9g} s, alone {:.9g} B/s, members",
                   i, lane.size, lane.representative, lane.hop_latency.value(),
                   lane.pace_alone.value());
    for (std::int32_t m = 0; m < lane.member_count; ++m) {
      const LaneMember& member = at(folded.members, lane.first_member + m);
      fmt::format_to(to, " {}.{}", member.rank_class, member.slot);
    }
    out += ", rows";
    for (std::int32_t u = 0; u < lane.use_count; ++u) {
      const LinkUse& use = at(folded.uses, lane.first_use + u);
      fmt::format_to(to, " {}x{}", use.weight, use.link);
    }
    out += '\n';
  }
  for (std::int32_t i = 0; i < count(folded.links); ++i) {
    const LinkClass& link = at(folded.links, i);
    fmt::format_to(to, "link class {}: {} links like {}, {:.9g} B/s\n", i, link.size,
                   link.representative, link.capacity.value());
  }
  for (std::int32_t i = 0; i < count(folded.rows); ++i) {
    const LinkRow& row = at(folded.rows, i);
    fmt::format_to(to, "row {}: link class {}, {:.9g} B/s\n", i, row.link_class,
                   row.capacity.value());
  }
  return out;
}

}  // namespace shardsim
