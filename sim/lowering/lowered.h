// The program on a machine: kernels have durations, collectives have become flows on lanes.
//
// A *lane* is a communicator with one link list: a ring, one direction of a stage boundary. An
// operation that communicates uses a lane through a *slot*, the place in its program; each rank
// binds the slots of its program to lanes. A collective of several phases (reduce-scatter in the
// node, all-reduce along the rail, all-gather in the node) is several operations in a row.
// A flow moves `amount` bytes; while it runs at rate x, it takes weight * x of each link of its
// lane. All links of a lane advance together, as a pipelined ring does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "workload/program.h"

namespace shardsim {

struct LoweredOp {
  bool is_flow = false;
  Stream stream = Stream::compute;
  Category category = Category::compute;
  StreamMask join = 0;
  std::int32_t first_dep = 0;
  std::int32_t dep_count = 0;
  std::int32_t source = 0;  // operation of the program's template that this came from
  std::int32_t label = 0;
  std::int32_t layer = -1;
  std::int32_t slot = -1;  // flows: index into the rank's slot list
  Seconds duration{};      // timers: how long; flows: software latency before the bytes move
  double steps = 0;        // flows: hops in a row, each costs the lane's hop latency
  double amount = 0;       // flows: bytes per unit of weight
  Bytes message{};         // flows: bytes of the collective, for reports
  // Only in coalesced templates (fold/coalesce.h):
  std::int32_t order = -1;      // number of the operation before coalescing, -1 = its index
  std::int32_t order_deps = 0;  // how many of its dependencies, the last ones, stand for the order
                                // of streams
  std::int32_t part = -1;       // Folded::parts: a part of a chain, -1 = an operation of its own
  StreamMask stands_on = 0;     // streams whose last operation this is, besides its own
};

struct LoweredTemplate {
  std::int32_t source = 0;  // Program::templates
  std::string name;
  PassKind kind = PassKind::forward;
  std::vector<LoweredOp> ops{};
  std::vector<std::int32_t> deps{};
  std::int32_t uncoalesced_ops = -1;  // how many there were before coalescing, -1 = ops.size()
};

struct LoweredPass {
  std::int32_t pass_template = 0;  // Lowered::templates
  std::int32_t micro_batch = -1;
  std::int32_t chunk = 0;
};

// Which algorithm carries a slot's traffic, for reports.
struct Slot {
  std::string group;        // "tp", "dp", "pp"
  std::string algorithm{};  // "ring", "hierarchical: node", "send_recv"
  std::int32_t role = 0;    // send 1, recv 2, otherwise 0: part of the slot's identity
};

struct LoweredProgram {
  std::int32_t source = 0;  // Program::programs
  std::int32_t stage = 0;
  std::vector<LoweredPass> passes{};
  std::vector<Slot> slots{};
};

struct LinkUse {
  LinkId link = 0;
  std::int64_t weight = 1;
  bool operator==(const LinkUse&) const = default;
};

// Streams of the step-by-step mode, beyond Stream: the receiving side of each collective's stream.
// Only lowered operations carry them.
inline constexpr std::size_t kLoweredStreamCount = kStreamCount + 4;
[[nodiscard]] constexpr Stream ring_receive_stream(Stream collective) {
  return static_cast<Stream>(kStreamCount + static_cast<std::size_t>(collective) -
                             static_cast<std::size_t>(Stream::tp));
}
// Operations on no stream wait for nothing but their dependencies and joins.
inline constexpr Stream kNoStream = static_cast<Stream>(kLoweredStreamCount);
static_assert(kLoweredStreamCount < 8 * sizeof(StreamMask));

struct Lane {
  std::int32_t kind = 0;       // equal for lanes that may be folded together: algorithm and role
  Seconds hop_latency{};       // mean over the hops of the algorithm
  std::int32_t first_use = 0;  // Lowered::uses, by rising link, each link once
  std::int32_t use_count = 0;  // 0: nothing contends, its flows are timers
};

struct Lowered {
  std::vector<LoweredTemplate> templates;
  std::vector<LoweredProgram> programs;
  std::vector<std::int32_t> program_of_rank;
  std::vector<double> speed_of_rank;     // 1 = nominal; kernels take duration / speed
  std::vector<std::int32_t> first_slot;  // per rank, into slot_lanes; size ranks + 1
  std::vector<LaneId> slot_lanes;        // lane of each slot of each rank
  std::vector<Lane> lanes;
  std::vector<LinkUse> uses;
  std::vector<BytesPerSecond> link_capacity;  // per LinkId of the Fabric, perturbations applied
  std::vector<std::uint8_t> link_can_bind;    // per LinkId: false = redundant by the topology
  std::vector<std::string> labels;            // of operations
};

}  // namespace shardsim
