// The result of a replay as plain rows: when each operation of each rank class started and ended,
// with all that an analysis needs to explain it. Nothing here knows how it was computed.
//
// Times are seconds from the start of the step. Operations of a rank class are numbered through its
// passes: pass p's operation i has index first_op[p] + i.
//
// A coalesced replay knows chains of operations whose times are fixed once the chain starts. Such a
// chain stands in a template as consecutive *parts*; what happens inside is a small trace of its
// own, with one pass per rank of the chain's domain and times from the start of the chain.
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
  std::int32_t order = -1;      // number before coalescing, -1 = its index; ties go by it
  std::int32_t order_deps = 0;  // of a coalesced template: the last dependencies, which stand for
                                // the order of streams
  std::int32_t part = -1;       // Trace::parts, -1 = an operation of its own
  StreamMask stands_on = 0;     // streams whose last operation this is, besides its own
};

struct TraceTemplate {
  std::string name;
  PassKind kind = PassKind::forward;
  std::vector<TraceOp> ops;
  std::vector<std::int32_t> deps;
  std::int32_t uncoalesced_ops = -1;  // how many there were before coalescing, -1 = ops.size()
};

struct TracePart {
  std::int32_t chain = 0;  // Trace::chains
  std::int32_t rank = 0;   // of the chain's trace
  std::int32_t exit = 0;   // its operation that ends when the part ends
  double start_s = 0;      // from the start of the chain
  double end_s = 0;
  bool on_compute = false;  // covers that much of the compute stream; else runs beside it
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
  std::vector<std::int32_t> slot_roles;      // per slot: send 1, recv 2, otherwise 0
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
  // Of a chain's trace: the operation that starts the chain in the template of each rank, -1 = the
  // rank has no operation in it.
  std::vector<std::int32_t> heads;
  std::vector<TraceTemplate> templates;
  std::vector<TraceProgram> programs;
  std::vector<TraceRank> ranks;
  std::vector<TraceLane> lanes;
  std::vector<TraceLink> links;
  std::vector<std::string> labels;
  ReplayCounts counts;
  double step_s = 0;
  std::vector<Trace> chains;  // only of a coalesced replay, with what follows
  std::vector<TracePart> parts;
  std::vector<std::vector<std::int32_t>> domains;  // rank classes in the order of a chain's ranks
  std::vector<std::int32_t> domain_of_class;
};

}  // namespace shardsim
