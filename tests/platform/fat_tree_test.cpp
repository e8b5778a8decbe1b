#include <random>
#include <set>

#include "platform/fabric.h"
#include "support/catch.h"
#include "support/clusters.h"

using namespace shardsim;

namespace {

// 8 GPUs and 4 NICs of 25 GB/s x 0.94 = 23.5 GB/s a node, 2 nodes a leaf.
ClusterSpec four_nics() {
  ClusterSpec cluster = test::dgx_a100_like();
  cluster.node.nics = 4;
  cluster.fabric.family = "fat_tree";
  cluster.fabric.nodes_per_leaf = 2;
  cluster.fabric.tiers = {{64, 1.0}, {64, 1.0}};
  return cluster;
}

std::vector<std::string> names(const Fabric& fabric, GpuId from, GpuId to) {
  Route path;
  route(fabric, from, to, path);
  std::vector<std::string> result;
  for (const LinkId link : path.links) {
    result.push_back(link_name(fabric, link));
  }
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

// GPU 3 uses NIC 3 * 4 / 8 = 1, GPU 6 NIC 3. Nodes 0 and 1 share leaf 0, node 2 is on leaf 1.
TEST_CASE("fat tree: GPUs share NICs, a leaf joins its nodes, spines the leaves") {
  const Fabric fabric = make_fabric(test::run_on(four_nics(), 32));
  CHECK(names(fabric, 3, 6) == Names{"node0.gpu3.nvlink.tx", "node0.gpu6.nvlink.rx"});
  CHECK(names(fabric, 3, 8 + 6) == Names{"node0.nic1.tx", "node1.nic3.rx"});
  CHECK(names(fabric, 3, 16 + 6) ==
        Names{"node0.nic1.tx", "leaf0.up", "leaf1.down", "node2.nic3.rx"});
  CHECK(names(fabric, 2, 9) == Names{"node0.nic1.tx", "node1.nic0.rx"});
  // latency: NIC 2.7 us, one switch 0.3 us, or three
  Route path;
  route(fabric, 3, 14, path);
  CHECK(path.latency.value() == Approx(3.0e-6));
  route(fabric, 3, 22, path);
  CHECK(path.latency.value() == Approx(3.6e-6));
  check_fabric(fabric);
}

// 2 nodes x 4 NICs x 23.5 GB/s below a leaf; at 4:1 a quarter of it above, which can bind.
TEST_CASE("fat tree: oversubscription divides the uplinks of a leaf") {
  RunSpec run = test::run_on(four_nics(), 32);
  const auto uplink = [](const Fabric& fabric) {
    return at(fabric.links, find_links(fabric, "leaf0.up").front());
  };
  CHECK(uplink(make_fabric(run)).capacity.value() == Approx(188e9));
  CHECK_FALSE(uplink(make_fabric(run)).can_bind);
  run.cluster.fabric.tiers[0].oversubscription = 4;
  CHECK(uplink(make_fabric(run)).capacity.value() == Approx(47e9));
  CHECK(uplink(make_fabric(run)).can_bind);
}

TEST_CASE("fat tree: a leaf has ports for all NICs of its nodes and as many uplinks") {
  const auto problem = [](std::int64_t per_leaf, std::int64_t gpus) -> std::string {
    RunSpec run = test::run_on(four_nics(), gpus);
    run.cluster.fabric.nodes_per_leaf = per_leaf;
    try {
      (void)make_fabric(run);
    } catch (const ConfigError& error) {
      return to_text(error.problems().front());
    }
    return "none";
  };
  CHECK(problem(8, 64) == "none");  // 32 + 32 of 64
  CHECK(problem(9, 64) ==
        "test.json:/cluster/fabric/nodes_per_leaf: 9 nodes of 4 NICs and 36 uplinks on a leaf "
        "switch of 64 ports; use at most 8, more ports or more oversubscription");
  // 64 leaves of 8 nodes: 4,096 GPUs
  CHECK(problem(8, 4096) == "none");
  CHECK(problem(8, 4097) ==
        "test.json:/cluster/fabric/tiers: two tiers of 64-port spines join 512 nodes, the run "
        "occupies 513; add a third tier, or use fewer GPUs");
}

TEST_CASE("rail optimised: with fewer NICs than GPUs a rail serves neighbours") {
  ClusterSpec cluster = four_nics();
  cluster.fabric.family = "rail_optimised";
  const Fabric fabric = make_fabric(test::run_on(cluster, 32));
  CHECK(fabric.rails == 4);
  // GPUs 2 and 3 are on rail 1; to GPU 6 of rail 3 the message first moves to its own node's GPU 6
  CHECK(names(fabric, 2, 8 + 3) == Names{"node0.nic1.tx", "node1.nic1.rx"});
  CHECK(names(fabric, 3, 16 + 6) == Names{"node0.gpu3.nvlink.tx", "node0.gpu6.nvlink.rx",
                                          "node0.nic3.tx", "leaf3.up", "leaf7.down",
                                          "node2.nic3.rx"});
}

TEST_CASE("fat tree: random trees are well formed and every message uses its GPUs' NICs") {
  std::mt19937 random(5);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int world = 0; world < 100; ++world) {
    ClusterSpec cluster = four_nics();
    cluster.node.gpus = pick(1, 9);
    cluster.node.gpus_used = cluster.node.gpus;
    cluster.node.nics = pick(1, static_cast<int>(cluster.node.gpus));
    cluster.fabric.nodes_per_leaf = pick(1, 3);
    cluster.fabric.tiers = {{64, 2.0}, {pick(2, 16), 1.0}, {64, 1.0}};
    const RunSpec run = test::run_on(cluster, pick(1, 300));
    const Fabric fabric = make_fabric(run);
    check_fabric(fabric);
    std::set<std::string> seen;
    for (LinkId link = 0; link < count(fabric.links); ++link) {
      REQUIRE(seen.insert(link_name(fabric, link)).second);
    }
    const auto from = static_cast<GpuId>(pick(0, count(fabric.gpu_speed) - 1));
    const auto to = static_cast<GpuId>(pick(0, count(fabric.gpu_speed) - 1));
    if (fabric.node_of(from) == fabric.node_of(to)) {
      continue;
    }
    const Names path = names(fabric, from, to);
    const auto nic = [&](GpuId gpu) {
      return "node" + std::to_string(fabric.node_of(gpu)) + ".nic" +
             std::to_string(fabric.local_of(gpu) * cluster.node.nics / cluster.node.gpus);
    };
    CHECK(path.front() == nic(from) + ".tx");
    CHECK(path.back() == nic(to) + ".rx");
  }
}
