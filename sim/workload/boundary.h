// Stage boundaries: what a chunk receives before its first operation and sends after its last. A
// named exception of the sharding algebra.
//
// Each tp rank sends b * s * h elements; 1/tp of them under SP (its slice) or with
// p2p_scatter_gather, where the receivers then gather the whole in their tp group (Narayanan et
// al., arXiv 2104.04473 section 4.1).
//
// Blocking: the next pass waits for the send, and a receive is posted once the compute before it
// has ended; a send and the receive that follows it run together, as Megatron pairs them
// (send_forward_recv_backward). With several chunks a stage needs some inputs only passes later:
// Megatron receives them into a queue in step with the sender, so there receives are posted from
// the start and only sends block.
//
// Overlapped: both only wait for data. Megatron overlaps under the interleaved schedule only; the
// schedules that split backward send beside their weight passes (arXiv 2401.10241 section 5, arXiv
// 2412.19437 section 3.2.1). Each direction has its own stream, so no order of passes can block
// itself.
//
// A bidirectional pipeline has a second row of stages that runs the other way: its activations go
// to the stage before, its gradients to the stage after.
#pragma once

#include "workload/pass_builder.h"

namespace shardsim {

enum class Direction : std::uint8_t { forward, backward };

// One side of a chunk: what goes in or out there, and which way its activations flow.
struct Boundary {
  Direction direction = Direction::forward;
  bool mirrored = false;  // activations go to the stage before
};

[[nodiscard]] bool overlaps_boundaries(const RunSpec& run);
[[nodiscard]] Bytes boundary_bytes(const RunSpec& run);

// Start of a pass: the receive (if any), and the meeting point that waits for it, for the host and
// for whatever of earlier passes blocks.
void begin_pass(const RunSpec& run, Boundary boundary, bool receives, PassBuilder& pass);
// End of a pass: sends what the last operation left.
void end_pass(const RunSpec& run, Boundary boundary, bool sends, PassBuilder& pass);

}  // namespace shardsim
