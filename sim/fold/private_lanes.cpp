#include "fold/private_lanes.h"

#include <algorithm>
#include <limits>

namespace shardsim {
namespace {

inline constexpr std::int8_t kUnused = -1;
inline constexpr std::int8_t kSeveral = -2;

// Per slot of the program: the stream of all of its flows, or that there are several.
std::vector<std::int8_t> slot_streams(const Folded& folded, const LoweredProgram& program) {
  std::vector<std::int8_t> streams(program.slots.size(), kUnused);
  std::vector<std::uint8_t> seen(folded.templates.size(), 0);
  for (const LoweredPass& pass : program.passes) {
    if (at(seen, pass.pass_template) != 0) {
      continue;
    }
    at(seen, pass.pass_template) = 1;
    for (const LoweredOp& op : at(folded.templates, pass.pass_template).ops) {
      if (op.is_flow) {
        std::int8_t& stream = at(streams, op.slot);
        const auto here = static_cast<std::int8_t>(op.stream);
        stream = stream == kUnused || stream == here ? here : kSeveral;
      }
    }
  }
  return streams;
}

}  // namespace

std::vector<LanePace> lane_paces(const Folded& folded) {
  std::vector<std::int32_t> users(folded.rows.size(), 0);
  for (const LinkUse& use : folded.uses) {
    ++at(users, use.link);
  }
  std::vector<std::vector<std::int8_t>> streams;
  streams.reserve(folded.programs.size());
  for (const LoweredProgram& program : folded.programs) {
    streams.push_back(slot_streams(folded, program));
  }
  std::vector<LanePace> paces;
  paces.reserve(folded.lanes.size());
  for (const LaneClass& lane : folded.lanes) {
    LanePace pace{.is_private = lane.use_count == 0,
                  .pace_Bps = std::numeric_limits<double>::infinity()};
    for (std::int32_t m = 0; m < lane.member_count; ++m) {
      const LaneMember& member = at(folded.members, lane.first_member + m);
      const std::int32_t program = at(folded.ranks, member.rank_class).program;
      pace.is_private = pace.is_private || at(at(streams, program), member.slot) != kSeveral;
    }
    for (std::int32_t u = 0; u < lane.use_count; ++u) {
      const LinkUse& use = at(folded.uses, lane.first_use + u);
      pace.is_private = pace.is_private && at(users, use.link) == 1;
      pace.pace_Bps = std::min(pace.pace_Bps, at(folded.rows, use.link).capacity.value() /
                                                  static_cast<double>(use.weight));
    }
    paces.push_back(pace);
  }
  return paces;
}

}  // namespace shardsim
