// Collectives as flows by hand: which links, how much, how often, and what waits for them.
#include "base/errors.h"
#include "lowering/hand_lowering.h"
#include "support/catch.h"

namespace shardsim {
namespace {

TEST_CASE("lowering: a primitive that no algorithm carries is an internal error") {
  CHECK_THROWS_WITH(lower_collective(round_run(2, 1, 1), Primitive::broadcast, kMiB),
                    Catch::Contains("no algorithm for broadcast over 2 ranks"));
}

TEST_CASE("lowering: a ring inside a node is one channel over each GPU's NVLink") {
  // 8 ranks: 2 * 7/8 * S per edge, 14 steps; base 3 us + ramp 2 us * (4 MiB / 1 MiB)^0.4.
  RunSpec run = round_run(8, 1, 1);
  run.cluster.corrections = {Seconds{3e-6}, Seconds{2e-6}, Seconds{7e-6}};
  const Job job = lower_collective(run, Primitive::all_reduce, 4 * kMiB);
  const LoweredOp& op = job.lowered.templates[0].ops[0];
  CHECK(op.is_flow);
  CHECK(op.amount == 1.75 * 4 * kMiB);
  CHECK(op.steps == 14);
  CHECK(op.duration.value() == Approx(3e-6 + 2e-6 * 1.7411011));
  CHECK(op.message == Bytes{4 * kMiB});
  REQUIRE(job.lowered.lanes.size() == 1);
  CHECK(job.lowered.lanes[0].use_count == 16);
  CHECK(weight_of(job, 0, "node0.gpu3.nvlink.tx") == 1);
  CHECK(weight_of(job, 0, "node0.gpu3.nvlink.rx") == 1);
  CHECK(job.lowered.lanes[0].hop_latency.value() == Approx(0.7e-6));
}

TEST_CASE("lowering: the ramp inside a node shrinks with groups below 8") {
  RunSpec run = round_run(2, 1, 1);
  run.cluster.corrections = {Seconds{}, Seconds{8e-6}, Seconds{}};
  const Job job = lower_collective(run, Primitive::all_gather, kMiB);
  CHECK(job.lowered.templates[0].ops[0].duration.value() == Approx(2e-6));
  CHECK(job.lowered.templates[0].ops[0].amount == 0.5 * kMiB);
  CHECK(job.lowered.templates[0].ops[0].steps == 1);
}

TEST_CASE("lowering: a ring over two full nodes has 8 channels, one per NIC") {
  // 16 ranks: 2 * 15/16 * S over 8 channels; each channel passes 7 of the 8 NVLink edges of a node
  // and one NIC, so a GPU's NVLink carries 7 channels.
  RunSpec run = round_run(16, 1, 1);
  run.collectives["all_reduce"] = {"ring", "auto", {}};
  const Job job = lower_collective(run, Primitive::all_reduce, 64 * kMiB);
  const LoweredOp& op = job.lowered.templates[0].ops[0];
  CHECK(op.amount == 2.0 * 15 / 16 * 64 * kMiB / 8);
  CHECK(op.steps == 30);
  for (const char* end : {"tx", "rx"}) {
    CHECK(weight_of(job, 0, std::string("node0.nic0.") + end) == 1);
    CHECK(weight_of(job, 0, std::string("node1.nic7.") + end) == 1);
    CHECK(weight_of(job, 0, std::string("node1.gpu4.nvlink.") + end) == 7);
  }
  // 16 edges a channel: 14 over NVLink (0.7 us), 2 over NICs (2.7 us, same leaf + 0.3 us).
  CHECK(job.lowered.lanes[0].hop_latency.value() == Approx((14 * 0.7e-6 + 2 * 3.0e-6) / 16));
}

TEST_CASE("lowering: one rank per node makes one ring along the rail") {
  RunSpec run = round_run(4, 1, 8);
  run.parallel.order = {Axis::dp, Axis::tp, Axis::cp, Axis::ep, Axis::pp};
  const Job job = lower_collective(run, Primitive::reduce_scatter, 64 * kMiB);
  CHECK(job.lowered.templates[0].ops[0].amount == 0.75 * 64 * kMiB);
  REQUIRE(job.lowered.lanes.size() == 8);
  const LaneId lane = job.lowered.slot_lanes[3];  // rank 3 sits on local GPU 3
  CHECK(weight_of(job, lane, "node2.nic3.tx") == 1);
  CHECK(weight_of(job, lane, "node2.gpu3.nvlink.tx") == 0);
}

TEST_CASE("lowering: small messages over nodes go node then rail, large ones around the ring") {
  const RunSpec run = round_run(16, 1, 1);
  const Job small = lower_collective(run, Primitive::all_reduce, 64 * 1024);
  REQUIRE(small.lowered.templates[0].ops.size() == 3);
  const auto& ops = small.lowered.templates[0].ops;
  const double size = 64 * 1024;
  CHECK(ops[0].amount == 7.0 / 8 * size);      // reduce_scatter in the node
  CHECK(ops[1].amount == 2.0 / 2 * size / 8);  // all_reduce of an eighth between 2 nodes
  CHECK(ops[2].amount == 7.0 / 8 * size);
  CHECK(ops[0].steps == 7);
  CHECK(ops[1].steps == 2);
  CHECK(small.lowered.programs[0].slots[0].algorithm == "hierarchical: node");
  CHECK(small.lowered.programs[0].slots[1].algorithm == "hierarchical: rail");
  CHECK(small.lowered.lanes.size() == 2 + 8);

  const Job large = lower_collective(run, Primitive::all_reduce, 1024 * kMiB);
  CHECK(large.lowered.templates[0].ops.size() == 1);
  CHECK(large.lowered.programs[0].slots[0].algorithm == "ring");
}

TEST_CASE("lowering: what depended on a collective depends on its last phase") {
  RunSpec run = round_run(16, 1, 1);
  run.collectives["all_gather"] = {"hierarchical", "auto", {}};
  HandProgram hand;
  const auto produced = hand.kernel(1e-3);
  const auto gathered =
      hand.collective(Primitive::all_gather, kTp, kMiB, Stream::tp, {produced}, mask(Stream::dp));
  hand.kernel(1e-3, {gathered});
  hand.add_program({{.pass_template = hand.end_template()}});
  const Job job = lower(hand, run);
  const LoweredTemplate& pass = job.lowered.templates[0];
  REQUIRE(pass.ops.size() == 4);  // kernel, rail, node, kernel
  CHECK(pass.ops[1].dep_count == 1);
  CHECK(pass.ops[1].join == mask(Stream::dp));
  CHECK(pass.ops[2].dep_count == 0);  // stream order
  CHECK(pass.ops[2].join == 0);
  CHECK(pass.deps[static_cast<std::size_t>(pass.ops[3].first_dep)] == 2);
  CHECK(pass.ops[3].source == 2);
}

TEST_CASE("lowering: a scalar costs its latency only") {
  // 16 ranks: up and down a tree of depth 4.
  const Job job = lower_collective(round_run(16, 1, 1), Primitive::all_reduce, 4);
  const LoweredOp& op = job.lowered.templates[0].ops[0];
  CHECK(op.amount == 0);
  CHECK(op.steps == 8);
  REQUIRE(job.lowered.lanes.size() == 1);
  CHECK(job.lowered.lanes[0].use_count == 0);
}

}  // namespace
}  // namespace shardsim
