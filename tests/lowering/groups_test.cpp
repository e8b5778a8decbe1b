// Groups that sit differently on the nodes, and the two ends of a message.
#include "lowering/hand_lowering.h"
#include "support/catch.h"

namespace shardsim {
namespace {

TEST_CASE("lowering: ranks whose groups straddle nodes get programs of their own") {
  // Nodes of 8 of which jobs use 6: tp groups of 4 lie {4}, {2, 2}, {4}, ...
  RunSpec run = round_run(4, 1, 3);
  run.cluster.node.gpus_used = 6;
  run.nodes = 2;
  const Job job = lower_collective(run, Primitive::all_reduce, kMiB);
  CHECK(job.lowered.programs.size() == 2);
  CHECK(job.lowered.program_of_rank ==
        std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0});
}

TEST_CASE("lowering: ragged groups ring with as many channels as their fullest node") {
  // 10 ranks: 8 on node 0, 2 on node 1. Channel j enters node 1 at member j mod 2, so each of the
  // two rails brings 4 channels there; on the way back PXN takes each channel to its own rail.
  RunSpec run = round_run(10, 1, 1);
  const Job job = lower_collective(run, Primitive::all_reduce, 1024 * kMiB);
  CHECK(job.lowered.templates[0].ops[0].amount == Approx(1.8 * 1024 * kMiB / 8));
  CHECK(weight_of(job, 0, "node1.nic0.rx") == 4);
  CHECK(weight_of(job, 0, "node1.nic1.rx") == 4);
  CHECK(weight_of(job, 0, "node0.nic5.rx") == 1);
}

TEST_CASE("lowering: only the end stages meet for tied embeddings") {
  RunSpec run = round_run(1, 4, 2);
  HandProgram hand;
  Communication tied;
  tied.primitive = Primitive::all_reduce;
  tied.group = axis_set(Axis::pp);
  tied.bytes = Bytes{kMiB};
  tied.end_stages_only = true;
  hand.communicate(tied, Stream::pp_send_forward, {}, 0);
  const auto end = hand.end_template();
  hand.kernel(1e-3);
  const auto middle = hand.end_template();
  hand.add_program({{.pass_template = end}}, 0);
  hand.add_program({{.pass_template = middle}}, 1);
  hand.add_program({{.pass_template = middle}}, 2);
  hand.add_program({{.pass_template = end}}, 3);
  const Job job = lower(hand, run);
  CHECK(job.lowered.lanes.size() == 2);                   // one pair per data-parallel copy
  CHECK(job.lowered.templates[0].ops[0].amount == kMiB);  // 2 * 1/2 * S
}

TEST_CASE("lowering: forward and backward messages between two stages have lanes of their own") {
  RunSpec run = round_run(1, 2, 1);
  run.cluster.corrections.base_latency = Seconds{10e-6};
  HandProgram hand;
  hand.message(Primitive::send, +1, kMiB, Stream::pp_send_forward);
  hand.message(Primitive::recv, +1, kMiB, Stream::pp_recv_backward);
  const auto first = hand.end_template();
  hand.message(Primitive::recv, -1, kMiB, Stream::pp_recv_forward);
  hand.message(Primitive::send, -1, kMiB, Stream::pp_send_backward);
  const auto last = hand.end_template();
  hand.add_program({{.pass_template = first}}, 0);
  hand.add_program({{.pass_template = last}}, 1);
  const Job job = lower(hand, run);
  REQUIRE(job.lowered.lanes.size() == 2);
  const LoweredOp& send = job.lowered.templates[0].ops[0];
  CHECK(send.amount == kMiB);
  CHECK(send.steps == 1);
  CHECK(send.duration.value() == Approx(10e-6));
  const Lowered& lowered = job.lowered;
  const auto lane_of = [&](Rank rank, std::int32_t role, std::int32_t offset) {
    const auto& slots = at(lowered.programs, at(lowered.program_of_rank, rank)).slots;
    std::int32_t seen = 0;
    for (std::int32_t s = 0; s < count(slots); ++s) {
      if (at(slots, s).role == role && seen++ == offset) {
        return at(lowered.slot_lanes, at(lowered.first_slot, rank) + s);
      }
    }
    return -1;
  };
  constexpr std::int32_t kSend = 1;
  constexpr std::int32_t kRecv = 2;
  CHECK(lane_of(0, kSend, 0) == lane_of(1, kRecv, 0));
  CHECK(lane_of(1, kSend, 0) == lane_of(0, kRecv, 0));
  CHECK(lane_of(0, kSend, 0) != lane_of(1, kSend, 0));
  CHECK(lowered.programs[0].slots[0].algorithm == "send_recv");  // as the listed algorithm
}

}  // namespace
}  // namespace shardsim
