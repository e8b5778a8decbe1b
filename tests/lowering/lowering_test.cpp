// Program -> Lowered by hand: which flows, over which links, how much, how often.
#include "lowering/lowering.h"

#include "base/errors.h"
#include "lowering/idle_perturbations.h"
#include "support/catch.h"
#include "support/clusters.h"
#include "support/hand_program.h"

namespace shardsim {
namespace {

using Catch::Contains;
using test::HandProgram;

inline constexpr AxisSet kTp = axis_set(Axis::tp);
inline constexpr AxisSet kDp = axis_set(Axis::dp);
inline constexpr std::int64_t kMiB = 1 << 20;

RunSpec round_run(std::int64_t tp, std::int64_t pp, std::int64_t dp) {
  RunSpec run = test::run_on(test::dgx_h100_like(), tp * pp * dp);
  run.cluster.gpu = test::round_gpu();
  run.parallel.tp = tp;
  run.parallel.pp = pp;
  run.parallel.dp = dp;
  return run;
}

struct Job {
  Fabric fabric;
  Lowered lowered;
};

Job lower(HandProgram& hand, const RunSpec& run, const LoweringOptions& options = {}) {
  const RankGrid grid(run.parallel);
  Job job{.fabric = make_fabric(run), .lowered = {}};
  job.lowered =
      lower_program(hand.finish(grid), run, grid, job.fabric, make_node_map(run), options);
  check_lowered(job.lowered);
  return job;
}

// A job whose one operation is one collective over tp.
Job lower_collective(const RunSpec& run, Primitive primitive, std::int64_t bytes,
                     const LoweringOptions& options = {}) {
  HandProgram hand;
  hand.collective(primitive, kTp, bytes, Stream::tp);
  hand.add_program({{.pass_template = hand.end_template()}});
  return lower(hand, run, options);
}

std::int64_t weight_of(const Job& job, LaneId lane, const std::string& link) {
  const Lane& row = at(job.lowered.lanes, lane);
  for (std::int32_t u = 0; u < row.use_count; ++u) {
    const LinkUse& use = at(job.lowered.uses, row.first_use + u);
    if (link_name(job.fabric, use.link) == link) {
      return use.weight;
    }
  }
  return 0;
}

// ---- bad input

TEST_CASE("lowering: choices that do not exist are refused together") {
  RunSpec run = round_run(2, 1, 1);
  run.collectives["all_reduce"] = {"tree", "LL", 4};
  run.collectives["all_to_all"] = {"ring", "auto", {}};
  run.collectives["send_recv"] = {"ring", "auto", {}};
  CHECK_THROWS_WITH(
      check_collectives(run),
      Contains("test.json:/collectives/all_reduce/algorithm: \"tree\" is not an algorithm for "
               "all_reduce; use one of auto, ring, hierarchical") &&
          Contains("/collectives/all_reduce/protocol: protocol \"LL\" is not implemented yet") &&
          Contains("/collectives/all_reduce/channels: a number of channels") &&
          Contains("\"ring\" is not an algorithm for all_to_all; use one of auto, pairwise") &&
          Contains("\"ring\" is not an algorithm for send_recv; use one of auto, send_recv"));
}

TEST_CASE("lowering: a primitive that no algorithm carries is an internal error") {
  CHECK_THROWS_WITH(lower_collective(round_run(2, 1, 1), Primitive::broadcast, kMiB),
                    Contains("no algorithm for broadcast over 2 ranks"));
}

// ---- what costs nothing

TEST_CASE("lowering: a group of one and a message of no bytes cost nothing") {
  for (const auto& [tp, bytes] : {std::pair{1, kMiB}, std::pair{8, std::int64_t{0}}}) {
    const Job job = lower_collective(round_run(tp, 1, 1), Primitive::all_reduce, bytes);
    REQUIRE(job.lowered.templates[0].ops.size() == 1);
    CHECK(!job.lowered.templates[0].ops[0].is_flow);
    CHECK(job.lowered.templates[0].ops[0].duration.value() == 0);
    CHECK(job.lowered.lanes.empty());
  }
}

// ---- timers

TEST_CASE("lowering: kernels take their time, the host its launches") {
  // 2e9 B at 1 TB/s = 2 ms; 10 launches of 5 us.
  HandProgram hand;
  hand.kernel(0.002);
  hand.host(10);
  hand.add_program({{.pass_template = hand.end_template()}});
  const Job job = lower(hand, round_run(1, 1, 1));
  CHECK(job.lowered.templates[0].ops[0].duration.value() == Approx(0.002));
  CHECK(job.lowered.templates[0].ops[1].duration.value() == Approx(50e-6));
}

// ---- rings

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

// ---- shapes

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

// ---- send and recv

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

// ---- perturbations without effect

// A TP group of two GPUs of node 0: NVLink of GPUs 0 and 1, no NIC.
TEST_CASE("perturbations: one without effect went unsaid") {
  RunSpec run = round_run(2, 1, 1);
  using Kind = Perturbation::Kind;
  const auto halve = [&run](Kind kind, std::int64_t index, const std::string& link) {
    run.perturbations.emplace_back();
    run.perturbations.back().kind = kind;
    run.perturbations.back().index = index;
    run.perturbations.back().link = link;
    run.perturbations.back().factor = 0.5;
  };
  halve(Kind::gpu, 0, "");
  halve(Kind::gpu, 5, "");
  halve(Kind::node, 0, "");
  halve(Kind::link, 0, "node0.gpu1.nvlink");
  halve(Kind::link, 0, "node0.nic2");
  halve(Kind::rail, 1, "");
  const Job job = lower_collective(run, Primitive::all_reduce, kMiB);
  const std::vector<std::string> expected{
      "perturbation of GPU 5 has no effect: it holds no rank",
      "perturbation of link node0.nic2 has no effect: no traffic crosses it",
      "perturbation of rail 1 has no effect: no traffic crosses it"};
  CHECK(idle_perturbations(run, job.fabric, make_node_map(run), job.lowered) == expected);
}

// ---- overlap_slowdown

// Kernels of 3 and 4 ms beside a reduce-scatter that takes 5 ms alone (half of S at 369 GB/s).
HandProgram overlapped(std::int64_t tp_bytes) {
  HandProgram hand;
  const auto before = hand.kernel(1e-3);
  hand.collective(Primitive::reduce_scatter, kTp, tp_bytes, Stream::tp, {before});
  hand.kernel(3e-3);
  hand.kernel(4e-3);
  return hand;
}

RunSpec slowed(double slowdown) {
  RunSpec run = round_run(2, 1, 1);
  run.cluster.node.nvlink.latency = Seconds{};
  run.training.overlap_slowdown = slowdown;
  return run;
}

const std::int64_t kFiveMs = std::int64_t{2} * 1'845'000'000;  // half of it at 369 GB/s takes 5 ms

TEST_CASE("overlap slowdown: kernels of 3 and 4 ms beside 5 ms end at 3.9 and 8.5 ms") {
  HandProgram hand = overlapped(kFiveMs);
  hand.add_program({{.pass_template = hand.end_template()}});
  const Job job = lower(hand, slowed(0.3));
  const auto& ops = at(job.lowered.templates, job.lowered.programs[0].passes[0].pass_template).ops;
  CHECK(ops[0].duration.value() == Approx(1e-3));  // before it
  CHECK(ops[2].duration.value() == Approx(3.9e-3));
  CHECK(ops[2].duration.value() + ops[3].duration.value() == Approx(8.5e-3));
}

TEST_CASE("overlap slowdown: kernels from the first that waits on are not slowed") {
  HandProgram hand;
  const auto before = hand.kernel(1e-3);
  const auto sum = hand.collective(Primitive::reduce_scatter, kTp, kFiveMs, Stream::tp, {before});
  hand.kernel(3e-3);
  hand.kernel(4e-3, {sum});
  hand.kernel(5e-3);
  hand.add_program({{.pass_template = hand.end_template()}});
  const Job job = lower(hand, slowed(0.3));
  const auto& ops = at(job.lowered.templates, job.lowered.programs[0].passes[0].pass_template).ops;
  CHECK(ops[2].duration.value() == Approx(3.9e-3));
  CHECK(ops[3].duration.value() == Approx(4e-3));
  CHECK(ops[4].duration.value() == Approx(5e-3));
}

TEST_CASE("overlap slowdown: what waits through another stream waits too") {
  // The second collective follows the first on its stream; the last kernel joins the stream.
  HandProgram hand;
  const auto before = hand.kernel(1e-3);
  hand.collective(Primitive::reduce_scatter, kTp, kFiveMs, Stream::tp, {before});
  hand.collective(Primitive::reduce_scatter, kTp, 0, Stream::tp);
  hand.kernel(2e-3, {}, mask(Stream::tp));
  hand.add_program({{.pass_template = hand.end_template()}});
  const Job job = lower(hand, slowed(0.3));
  CHECK(job.lowered.templates.size() == 1);  // nothing lengthened: no variant
}

TEST_CASE("overlap slowdown: time covered twice counts once") {
  // Two collectives of 5 ms depend on the same kernel: both cover 3 + 2 ms.
  HandProgram hand;
  const auto before = hand.kernel(1e-3);
  hand.collective(Primitive::reduce_scatter, kTp, kFiveMs, Stream::tp, {before});
  hand.collective(Primitive::all_gather, kTp, kFiveMs, Stream::dp, {before});
  hand.kernel(3e-3);
  hand.kernel(4e-3);
  hand.add_program({{.pass_template = hand.end_template()}});
  const Job job = lower(hand, slowed(0.3));
  const auto& ops = at(job.lowered.templates, job.lowered.programs[0].passes[0].pass_template).ops;
  CHECK(ops[3].duration.value() == Approx(3.9e-3));
  CHECK(ops[4].duration.value() == Approx(4.6e-3));
}

TEST_CASE("overlap slowdown: it reaches into later passes, which get variants of their template") {
  // Pass A: kernel 1 ms, then the collective. Passes B: one kernel of 2 ms each. 5 ms cover
  // B1 and B2 wholly and half of B3; B4 is untouched.
  HandProgram hand;
  const auto before = hand.kernel(1e-3);
  hand.collective(Primitive::reduce_scatter, kTp, kFiveMs, Stream::tp, {before});
  const auto a = hand.end_template();
  hand.kernel(2e-3);
  const auto b = hand.end_template();
  hand.add_program({{.pass_template = a},
                    {.pass_template = b},
                    {.pass_template = b},
                    {.pass_template = b},
                    {.pass_template = b}});
  const Job job = lower(hand, slowed(0.5));
  const auto& passes = job.lowered.programs[0].passes;
  const auto duration = [&](std::size_t pass) {
    return at(job.lowered.templates, passes[pass].pass_template).ops[0].duration.value();
  };
  CHECK(duration(1) == Approx(3e-3));
  CHECK(duration(2) == Approx(3e-3));
  CHECK(duration(3) == Approx(2.5e-3));
  CHECK(duration(4) == Approx(2e-3));
  CHECK(passes[1].pass_template == passes[2].pass_template);
  CHECK(job.lowered.templates.size() == 4);
}

TEST_CASE("overlap slowdown: messages between stages do not count") {
  RunSpec run = slowed(0.3);
  run.parallel.tp = 1;
  run.parallel.pp = 2;
  HandProgram hand;
  hand.message(Primitive::send, +1, kFiveMs, Stream::pp_send_forward);
  hand.kernel(3e-3);
  const auto first = hand.end_template();
  hand.message(Primitive::recv, -1, kFiveMs, Stream::pp_recv_forward);
  hand.kernel(3e-3);
  const auto second = hand.end_template();
  hand.add_program({{.pass_template = first}}, 0);
  hand.add_program({{.pass_template = second}}, 1);
  CHECK(lower(hand, run).lowered.templates.size() == 2);
}

TEST_CASE("lowering: the dump has a line per item") {
  const Job job = lower_collective(round_run(2, 1, 1), Primitive::all_reduce, kMiB);
  CHECK(dump_lowered(job.lowered) ==
        "template 0 \"T0\" of 0\n"
        "  op 0 tp dp flow slot 0 latency 0 s steps 2 amount 1048576 B message 1048576 B"
        " \"hand-written\"\n"
        "program 0 of 0 stage 0\n"
        "  slot 0 tp ring\n"
        "  pass template 0 micro batch -1 chunk 0\n"
        "rank 0 program 0 speed 1 lanes 0\n"
        "rank 1 program 0 speed 1 lanes 0\n"
        "lane 0 kind 0 hop 7e-07 s links 1x0 1x1 1x2 1x3\n");
}

}  // namespace
}  // namespace shardsim
