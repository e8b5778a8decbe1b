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

// A chain of operations whose times are fixed from the moment it starts: see fold/coalesce.h. All
// times in seconds from that moment, at the speed of the ranks.
struct ChainRank {  // what one rank class of the domain does in the chain
  std::int32_t slot_count = 0;
  LoweredTemplate body{};         // its operations in order, dependencies within the chain
  std::vector<double> start_s{};  // of a flow: this rank's arrival
  std::vector<double> end_s{};
  std::int32_t first_compute_part = -1;  // into Folded::parts; those on the compute stream are
  std::int32_t compute_part_count = 0;   // consecutive
  std::int32_t head = -1;  // operation of the coalesced template that starts it, -1 = none
};

struct ChainLane {                  // of the flows in the chain
  std::vector<LaneMember> members;  // rank_class = index into Chain::ranks
  Seconds hop_latency{};
  BytesPerSecond pace_alone{};
};

struct Chain {
  std::vector<ChainRank> ranks;  // by the order of classes in Folded::domains
  std::vector<ChainLane> lanes;
  std::vector<std::vector<std::int32_t>> slot_lanes;  // per rank and slot, -1 = none in the chain
};

// A piece of a chain between two moments at which something outside it can be told.
struct ChainPart {
  std::int32_t chain = 0;
  std::int32_t rank = 0;  // of Chain::ranks
  std::int32_t exit = 0;  // operation of its body whose end is the end of the part
  double start_s = 0;
  double end_s = 0;
  bool on_compute = false;  // covers that much of the compute stream; else runs beside it
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
  // Only when coalesced:
  std::vector<Chain> chains;
  std::vector<ChainPart> parts;
  std::vector<std::vector<std::int32_t>> domains;  // rank classes in lockstep, rising
  std::vector<std::int32_t> domain_of_class;
};

}  // namespace shardsim
