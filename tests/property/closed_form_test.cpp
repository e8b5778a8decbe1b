// Replays against formulas that know nothing of the simulator.
#include "support/closed_form.h"

#include <rapidcheck.h>

#include <cmath>

#include "random_job.h"
#include "support/catch.h"
#include "support/hand_program.h"
#include "workload/schedule.h"

namespace shardsim {
namespace {

using test::between;
using test::HandProgram;
using test::pick;
using test::simulate_program;

inline constexpr AxisSet kTp = axis_set(Axis::tp);

bool near(double a, double b, double tolerance = 1e-9) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

Program one_collective(const RunSpec& run, Primitive primitive, std::int64_t bytes) {
  HandProgram hand;
  hand.collective(primitive, kTp, bytes, Stream::tp);
  hand.add_program({{.pass_template = hand.end_template()}});
  return hand.finish(RankGrid(run.parallel));
}

// tp ranks on whole nodes of a random cluster.
RunSpec random_group() {
  RunSpec run = test::run_on(test::random_cluster(), 1);
  const std::int64_t per_node = run.cluster.node.gpus;
  run.nodes = *rc::gen::inRange(1, 9);
  run.gpus = std::max<std::int64_t>(2, per_node * run.nodes);
  run.nodes = (run.gpus + per_node - 1) / per_node;
  run.parallel.tp = run.gpus;
  run.cluster.fabric.nodes_per_leaf = 32;  // one leaf: all rail hops cost the same
  return run;
}

closed_form::Ring ring_of(const RunSpec& run, Primitive primitive, std::int64_t bytes) {
  const NodeSpec& node = run.cluster.node;
  return {.bytes = static_cast<double>(bytes),
          .ranks = static_cast<int>(run.gpus),
          .ranks_per_node = static_cast<int>(node.gpus),
          .nvlink_Bps = node.nvlink.bandwidth_per_direction.value() * node.nvlink.efficiency,
          .nic_Bps = node.nic.bandwidth_per_direction.value() * node.nic.efficiency,
          .nvlink_latency_s = node.nvlink.latency.value(),
          .rail_latency_s = node.nic.latency.value() + run.cluster.fabric.hop_latency.value(),
          .all_reduce = primitive == Primitive::all_reduce};
}

TEST_CASE("property: an uncontended ring takes 2(n-1)/n S/B and its steps") {
  REQUIRE(rc::check("ring = closed form", [] {
    RunSpec run = random_group();
    run.cluster.corrections = {};
    const auto primitive =
        pick(std::vector{Primitive::all_reduce, Primitive::reduce_scatter, Primitive::all_gather});
    run.collectives[std::string(name(primitive))].algorithm = "ring";
    const std::int64_t bytes = *rc::gen::inRange<std::int64_t>(1 << 10, 1 << 30);
    const auto done = simulate_program(one_collective(run, primitive, bytes), run);
    const double expected = closed_form::ring_seconds(ring_of(run, primitive, bytes));
    RC_ASSERT(near(done.trace.step_s, expected));
    std::vector<GpuId> gpus;
    for (GpuId gpu = 0; gpu < run.gpus; ++gpu) {
      gpus.push_back(gpu);
    }
    const CollectiveTime alone =
        collective_time_alone(primitive, Bytes{bytes}, gpus, make_fabric(run), run);
    RC_ASSERT(near(alone.time.value(), expected));
  }));
}

TEST_CASE("property: step by step, a ring of equal edges takes as long as the coupled flow") {
  REQUIRE(rc::check("stepped = fluid", [] {
    RunSpec run = random_group();
    const auto primitive =
        pick(std::vector{Primitive::all_reduce, Primitive::reduce_scatter, Primitive::all_gather});
    // One channel: in a node, one rank per node, or node and rail apart.
    const bool spread = run.nodes > 1 && run.cluster.node.gpus > 1;
    run.collectives[std::string(name(primitive))].algorithm = spread ? "hierarchical" : "ring";
    const std::int64_t bytes = *rc::gen::inRange<std::int64_t>(1 << 10, 1 << 28);
    const Program program = one_collective(run, primitive, bytes);
    const auto fluid = simulate_program(program, run);
    const auto stepped = simulate_program(program, run, FoldMode::off, {.step_by_step = true});
    RC_ASSERT(near(fluid.trace.step_s, stepped.trace.step_s));
    RC_ASSERT(stepped.trace.ranks[0].end_s.size() > fluid.trace.ranks[0].end_s.size() ||
              run.gpus == 2);
  }));
}

TEST_CASE("property: every link carries what the algorithm says") {
  REQUIRE(rc::check("bytes per link", [] {
    RunSpec run = random_group();
    const bool ring = *rc::gen::arbitrary<bool>();
    run.collectives["all_reduce"].algorithm = ring ? "ring" : "hierarchical";
    const std::int64_t bytes = *rc::gen::inRange<std::int64_t>(1 << 10, 1 << 30);
    const auto done = simulate_program(one_collective(run, Primitive::all_reduce, bytes), run);
    const double n = static_cast<double>(run.gpus);
    const double r = static_cast<double>(run.cluster.node.gpus);
    const double k = static_cast<double>(run.nodes);
    const double size = static_cast<double>(bytes);
    // Ring: 2 (n-1)/n S in all, an r-th of it over each NIC, (r-1)/r of it over each NVLink.
    // Node then rail: 2 (r-1)/r S over NVLink, 2 (k-1)/k S/r over each NIC.
    double nvlink = 2 * (n - 1) / n * size * (k > 1 ? (r - 1) / r : 1);
    double nic = 2 * (n - 1) / n * size / r;
    if (!ring && k > 1 && r > 1) {
      nvlink = 2 * (r - 1) / r * size;
      nic = 2 * (k - 1) / k * size / r;
    }
    int nvlinks = 0;
    int nics = 0;
    for (const TraceLink& link : done.trace.links) {
      if (link.name.find("nvlink") != std::string::npos) {
        RC_ASSERT(near(link.bytes, nvlink));
        ++nvlinks;
      } else if (link.name.find("nic") != std::string::npos) {
        RC_ASSERT(near(link.bytes, nic));
        ++nics;
      }
      RC_ASSERT(link.users.size() == 1U);
      RC_ASSERT(link.users[0].group == "tp");
    }
    RC_ASSERT(nvlinks == (r > 1 ? 2 * run.gpus : 0));
    RC_ASSERT(nics == (k > 1 ? 2 * run.gpus : 0));
  }));
}

// Equal stages that pass on a byte over links so fast that it takes no time.
Program pipeline(const RunSpec& run, const Schedule& schedule, double forward, double backward) {
  HandProgram hand;
  const auto stages = static_cast<std::int32_t>(run.parallel.pp);
  const auto micro_batches = static_cast<std::int32_t>(run.batch.micro_batches);
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    std::vector<std::int32_t> deps;
    if (stage > 0) {
      deps = {hand.message(Primitive::recv, -1, 1, Stream::pp_recv_forward)};
    }
    deps = {hand.kernel(forward, deps)};
    if (stage + 1 < stages) {
      hand.message(Primitive::send, +1, 1, Stream::pp_send_forward, deps);
    }
    const auto forward_pass = hand.end_template(PassKind::forward);
    deps.clear();
    if (stage + 1 < stages) {
      deps = {hand.message(Primitive::recv, +1, 1, Stream::pp_recv_backward)};
    }
    deps = {hand.kernel(backward, deps)};
    if (stage > 0) {
      hand.message(Primitive::send, -1, 1, Stream::pp_send_backward, deps);
    }
    const auto backward_pass = hand.end_template(PassKind::backward);
    std::vector<Pass> passes;
    ScheduleInput input;
    input.stage = stage;
    input.stages = stages;
    input.micro_batches = micro_batches;
    for (const ScheduledPass& pass : schedule.passes(input)) {
      passes.push_back(
          {.pass_template = pass.kind == PassKind::forward ? forward_pass : backward_pass,
           .micro_batch = pass.micro_batch});
    }
    hand.add_program(passes, stage);
  }
  return hand.finish(RankGrid(run.parallel));
}

TEST_CASE("property: gpipe and 1f1b take (m + p - 1)(f + b) with equal stages") {
  REQUIRE(rc::check("pipeline = closed form", [] {
    RunSpec run = test::run_on(test::dgx_h100_like(), 1);
    run.cluster.gpu = test::round_gpu();
    run.cluster.fabric.hop_latency = Seconds{};
    run.cluster.node.nvlink = {BytesPerSecond{1e24}, 1.0, Seconds{}};
    run.parallel.pp = *rc::gen::inRange(1, 9);
    run.gpus = run.parallel.pp;
    run.batch.micro_batches = *rc::gen::inRange(1, 13);
    const double forward = between(1, 50, 1e-4);
    const double backward = between(1, 50, 1e-4);
    const Schedule& schedule = find_schedule(pick(std::vector<std::string>{"gpipe", "1f1b"}));
    const auto done =
        simulate_program(pipeline(run, schedule, forward, backward), run, FoldMode::automatic);
    RC_ASSERT(near(done.trace.step_s,
                   closed_form::pipeline_seconds(static_cast<int>(run.parallel.pp),
                                                 static_cast<int>(run.batch.micro_batches), forward,
                                                 backward)));
  }));
}

}  // namespace
}  // namespace shardsim
