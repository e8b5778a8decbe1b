// Tokens that cross to each node once: links, amounts and time by hand.
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
  std::string algorithm;
};

OneExchange exchange(std::int64_t ranks, std::int64_t bytes, const TokenSpread& spread) {
  RunSpec run = test::run_on(test::dgx_h100_like(), ranks);
  run.parallel.tp = ranks;
  const RankGrid grid(run.parallel);
  const Fabric fabric = make_fabric(run);
  test::HandProgram hand;
  hand.communicate({.primitive = Primitive::all_to_all,
                    .group = axis_set(Axis::tp),
                    .bytes = Bytes{bytes},
                    .trigger = "dispatch",
                    .spread = spread},
                   Stream::ep, {}, 0);
  hand.add_program({{.pass_template = hand.end_template()}});
  const Lowered lowered = lower_program(hand.finish(grid), run, grid, fabric, make_node_map(run));
  check_lowered(lowered);
  OneExchange result;
  for (const LoweredOp& op : lowered.templates.front().ops) {
    if (op.is_flow) {
      result.flow = op;
      result.algorithm = at(lowered.programs.front().slots, op.slot).algorithm;
    }
  }
  const Lane& lane = lowered.lanes.front();
  for (std::int32_t i = 0; i < lane.use_count; ++i) {
    const LinkUse& use = at(lowered.uses, lane.first_use + i);
    result.weights[link_name(fabric, use.link)] = use.weight;
  }
  return result;
}

}  // namespace

// 16 experts, top 2, 2 nodes of 8 ranks: N = 2 (1 - C(8,2)/C(16,2)) = 1.5333 nodes and 2 ranks.
// Each rank sends 8 MiB of tokens (buffer 16): 8 N / 2 to its peer on the other node, 8 x 2 / 8 to
// each in its own. In eighths of the former: 2 / (N / 2) x 8 / 8 = 2.6, so 3.
TEST_CASE("forwarded: a token crosses to a node once, by its own rail") {
  const OneExchange one = exchange(16, 16 << 20, {16, 2, 1, 1});
  CHECK(one.algorithm == "forwarded");
  const double nodes = 2 * (1 - 28.0 / 120.0);
  CHECK(one.flow.amount == Approx((8 << 20) * nodes / 2 / 8));
  CHECK(one.weights.at("node0.nic3.tx") == 8);
  CHECK(one.weights.at("node1.nic3.rx") == 8);
  CHECK(one.weights.at("node0.gpu3.nvlink.tx") == 7 * 3);
  CHECK(one.weights.at("node1.gpu0.nvlink.rx") == 7 * 3);
  CHECK(one.flow.steps == 2);
}

// Pairwise moves 8/16 of 16 MiB over each NIC, once per node 8 MiB x 1.5333 / 2: 0.77 of it.
TEST_CASE("forwarded: fewer bytes over the NICs than a copy per expert") {
  const OneExchange one = exchange(16, 16 << 20, {16, 2, 1, 1});
  const double over_nic = one.flow.amount * 8;
  CHECK(over_nic / (8 << 20) == Approx(1.5333 / 2).epsilon(1e-4));
}

// In one node each copy to a rank goes once, though two of its experts be there: 4 ranks of 4
// experts, 4 (1 - C(12,2)/C(16,2)) = 1.8 ranks of 2 copies.
TEST_CASE("forwarded: in a node a token goes to each rank once") {
  const OneExchange one = exchange(4, 16 << 20, {16, 2, 1, 1});
  CHECK(one.flow.amount == Approx((8 << 20) * 1.8 / 4));
  CHECK(one.weights.at("node0.gpu3.nvlink.tx") == 3);
}

}  // namespace shardsim
