// Pairwise all-to-all by hand: which links every pair loads, and how long that takes alone.
#include <map>

#include "lowering/lowering.h"
#include "platform/fabric.h"
#include "support/catch.h"
#include "support/clusters.h"
#include "support/hand_program.h"

namespace shardsim {
namespace {

struct OneExchange {
  std::map<std::string, std::int64_t> weights;
  LoweredOp flow;
};

OneExchange exchange(std::int64_t ranks, std::int64_t bytes) {
  RunSpec run = test::run_on(test::dgx_h100_like(), ranks);
  run.parallel.tp = ranks;
  const RankGrid grid(run.parallel);
  const Fabric fabric = make_fabric(run);
  test::HandProgram hand;
  hand.collective(Primitive::all_to_all, axis_set(Axis::tp), bytes, Stream::ep);
  hand.add_program({{.pass_template = hand.end_template()}});
  const Lowered lowered = lower_program(hand.finish(grid), run, grid, fabric, make_node_map(run));
  check_lowered(lowered);
  OneExchange result;
  for (const LoweredOp& op : lowered.templates.front().ops) {
    if (op.is_flow) {
      result.flow = op;
    }
  }
  const Lane& lane = lowered.lanes.front();
  for (std::int32_t i = 0; i < lane.use_count; ++i) {
    const LinkUse& use = at(lowered.uses, lane.first_use + i);
    result.weights[link_name(fabric, use.link)] = use.weight;
  }
  return result;
}

// In a node each GPU sends S/n to each of the n-1 others: (n-1)/n S.
TEST_CASE("all_to_all: in a node every GPU loads its link once per peer") {
  const OneExchange one = exchange(8, 8 << 20);
  CHECK(one.flow.amount == 1 << 20);
  CHECK(one.weights.size() == 16);
  CHECK(one.weights.at("node0.gpu3.nvlink.tx") == 7);
  CHECK(one.weights.at("node0.gpu3.nvlink.rx") == 7);
}

// Two nodes of 8: NIC r carries what the 8 local ranks send to rank r over there. What is not of
// the sender's rail goes by NVLink first: 7 local peers and 7 such messages.
TEST_CASE("all_to_all: across nodes messages go by the receiver's rail") {
  const OneExchange one = exchange(16, 16 << 20);
  CHECK(one.flow.amount == 1 << 20);
  CHECK(one.weights.at("node1.nic5.tx") == 8);
  CHECK(one.weights.at("node1.nic5.rx") == 8);
  CHECK(one.weights.at("node0.gpu0.nvlink.tx") == 14);
  CHECK(one.weights.at("node0.gpu0.nvlink.rx") == 14);
  CHECK(one.flow.steps == 8);  // 7 rounds in the node, one to the other
}

// (n - r)/n S over each NIC of 47 GB/s is what sets the pace: 8/16 of 1 GB in 10.6 ms.
TEST_CASE("all_to_all: alone, the busiest tier sets the pace") {
  const RunSpec run = test::run_on(test::dgx_h100_like(), 16);
  const Fabric fabric = make_fabric(run);
  std::vector<GpuId> gpus;
  for (GpuId gpu = 0; gpu < 16; ++gpu) {
    gpus.push_back(gpu);
  }
  const CollectiveTime alone =
      collective_time_alone(Primitive::all_to_all, Bytes{1'000'000'000}, gpus, fabric, run);
  CHECK(alone.algorithm == "pairwise");
  CHECK(link_name(fabric, alone.bound_link).find(".nic") != std::string::npos);
  CHECK(alone.time.value() == Approx(0.5e9 / 47e9).epsilon(5e-3));
}

}  // namespace
}  // namespace shardsim
