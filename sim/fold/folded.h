// The job as classes of things that behave identically: what the replay runs on.
//
// One representative per class. A link class keeps its representative's capacity; a folded lane
// loads it with the summed weights of all lanes of its class that cross that one link. The discrete
// partition (every class has one member) is the full replay through the same code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "lowering/lowered.h"

namespace shardsim {

struct RankClass {
  Rank representative = 0;
  std::int32_t size = 1;
  std::int32_t program = 0;  // Lowered::programs
  double speed = 1.0;
  std::int32_t first_slot = 0;  // Folded::slot_lanes
  std::int32_t slot_count = 0;
};

struct LaneMember {
  std::int32_t rank_class = 0;
  std::int32_t slot = 0;
  bool operator==(const LaneMember&) const = default;
};

struct LaneClass {
  LaneId representative = 0;
  std::int32_t size = 1;
  std::int32_t first_member = 0;  // Folded::members: distinct (rank class, slot) that arrive
  std::int32_t member_count = 0;
  std::int32_t first_use = 0;  // Folded::uses, simplified rows; links are indices of link_rows
  std::int32_t use_count = 0;
  Seconds hop_latency{};
  BytesPerSecond pace_alone{};   // rate of one flow of this lane when nothing shares its links;
                                 // infinite when it has no links
  std::int32_t bound_link = -1;  // link class that gives that pace, -1 = none
};

struct LinkClass {
  LinkId representative = 0;
  std::int32_t size = 1;
  BytesPerSecond capacity{};
};

// A capacity row that survived simplification: what the replay knows of a link class.
struct LinkRow {
  std::int32_t link_class = 0;
  BytesPerSecond capacity{};  // divided by the row's common divisor
};

struct LinkLoad {  // unsimplified: for utilisation and bytes per link
  std::int32_t link_class = 0;
  std::int64_t weight = 0;  // of this lane class on the representative link
};

struct Folded {
  std::vector<LoweredTemplate> templates;
  std::vector<LoweredProgram> programs;
  std::vector<RankClass> ranks;
  std::vector<LaneId> slot_lanes;  // lane class of each slot of each rank class
  std::vector<LaneClass> lanes;
  std::vector<LaneMember> members;
  std::vector<LinkUse> uses;  // link = index into rows
  std::vector<LinkRow> rows;
  std::vector<LinkClass> links;
  std::vector<std::int32_t> first_load;  // per lane class, into loads; size lanes + 1
  std::vector<LinkLoad> loads;
  std::vector<std::int32_t> class_of_rank;
  std::vector<std::string> labels;
};

}  // namespace shardsim
