// The result of a replay as plain rows: when each operation of each rank class started and ended,
// with all that an analysis needs to explain it. Nothing here knows how it was computed.
//
// Times are seconds from the start of the step. Operations of a rank class are numbered through its
// passes: pass p's operation i has index first_op[p] + i.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "workload/program.h"

namespace shardsim {

struct TraceOp {  // static part, shared by all passes that run its template
  Stream stream = Stream::compute;
  Category category = Category::compute;
  bool is_flow = false;
  StreamMask join = 0;
  std::int32_t first_dep = 0;
  std::int32_t dep_count = 0;
  std::int32_t label = 0;  // Program::labels
  std::int32_t layer = -1;
  std::int32_t slot = -1;
  double duration_s = 0;  // timers at nominal speed; flows: software latency
  double steps = 0;       // flows: hops in a row, each costs the lane's hop latency
  double amount = 0;      // flows: bytes per unit of weight
  Bytes message{};
};

struct TraceTemplate {
  std::string name;
  PassKind kind = PassKind::forward;
  std::vector<TraceOp> ops;
  std::vector<std::int32_t> deps;
};

struct TracePass {
  std::int32_t pass_template = 0;
  std::int32_t micro_batch = -1;
  std::int32_t chunk = 0;
  std::int32_t first_op = 0;
};

struct TraceProgram {
  std::int32_t stage = 0;
  std::vector<TracePass> passes;
  std::vector<std::string> slot_groups;      // per slot: "tp", "dp", "pp"
  std::vector<std::string> slot_algorithms;  // per slot
};

struct TraceRank {  // one rank class
  Rank representative = 0;
  std::int32_t size = 1;
  std::int32_t program = 0;
  std::vector<std::int32_t> slot_lanes;  // lane class of each slot
  std::vector<double> start_s;           // an operation's own start; of a flow, this rank's arrival
  std::vector<double> end_s;
};

struct TraceLane {  // one lane class
  std::int32_t size = 1;
  std::vector<std::int32_t> member_rank_class;
  std::vector<std::int32_t> member_slot;
  double hop_latency_s = 0;
  double pace_alone_Bps = 0;     // infinite when it crosses no link
  std::int32_t bound_link = -1;  // index of Trace::links that gives that pace
};

struct TraceLinkUser {
  std::string group;  // "tp", "dp", ...
  double bytes = 0;   // that this group moved over one link of the class
};

struct TraceLink {   // one link class
  std::string name;  // of the representative
  std::int32_t size = 1;
  BytesPerSecond capacity{};
  double bytes = 0;  // over one link of the class in the step
  std::vector<TraceLinkUser> users;
};

struct ReplayCounts {
  std::int64_t ranks = 0;
  std::int64_t rank_classes = 0;
  std::int64_t timers = 0;
  std::int64_t flows = 0;
};

struct Trace {
  std::vector<TraceTemplate> templates;
  std::vector<TraceProgram> programs;
  std::vector<TraceRank> ranks;
  std::vector<TraceLane> lanes;
  std::vector<TraceLink> links;
  std::vector<std::string> labels;
  ReplayCounts counts;
  double step_s = 0;
};

}  // namespace shardsim
