// Links, names, capacities and routes of the topology families, by hand.
#include "platform/fabric.h"

#include <string>
#include <vector>

#include "support/catch.h"
#include "support/clusters.h"

namespace shardsim {

namespace {

using test::dgx_a100_like;
using test::dgx_h100_like;
using test::run_on;

std::vector<std::string> names(const Fabric& fabric, GpuId from, GpuId to) {
  Route path;
  route(fabric, from, to, path);
  std::vector<std::string> out;
  for (LinkId link : path.links) {
    out.push_back(link_name(fabric, link));
  }
  return out;
}

double latency_us(const Fabric& fabric, GpuId from, GpuId to) {
  Route path;
  route(fabric, from, to, path);
  return path.latency.value() * 1e6;
}

double capacity(const Fabric& fabric, const std::string& name) {
  const std::vector<LinkId> links = find_links(fabric, name);
  REQUIRE(links.size() == 1);
  return at(fabric.links, links.front()).capacity.value();
}

bool can_bind(const Fabric& fabric, const std::string& name) {
  const std::vector<LinkId> links = find_links(fabric, name);
  REQUIRE(links.size() == 1);
  return at(fabric.links, links.front()).can_bind;
}

std::string problems_of(const RunSpec& run) {
  try {
    (void)make_fabric(run);
  } catch (const ConfigError& error) {
    std::string text;
    for (const Problem& problem : error.problems()) {
      text += to_text(problem) + "\n";
    }
    return text;
  }
  return "none";
}

using Names = std::vector<std::string>;

}  // namespace

// ---- bad input ---------------------------------------------------------------------------------

TEST_CASE("fabric: an unknown family is refused with those there are") {
  RunSpec run = run_on(dgx_h100_like(), 64);
  run.cluster.fabric.family = "rail_optimized";
  CHECK(problems_of(run) ==
        "test.json:/cluster/fabric/family: \"rail_optimized\": this fabric family is not available "
        "in this version; use \"rail_optimised\", \"fat_tree\" or \"single_node\"\n");
}

TEST_CASE("fabric: each GPU has one NIC or a share of one") {
  RunSpec run = run_on(dgx_h100_like(), 64);
  run.cluster.node.nics = 16;
  CHECK(problems_of(run) ==
        "test.json:/cluster/node/nics/count: 16 NICs for 8 GPUs: each GPU uses one NIC; use 1 to "
        "8, several NICs of a GPU as one of their summed bandwidth\n");
  run.cluster.node.nics = 0;
  CHECK(problems_of(run) ==
        "test.json:/cluster/node/nics: a rail_optimised fabric joins the NICs of its nodes, these "
        "have none; state nics, or use family \"single_node\" and at most 8 GPUs\n");
}

TEST_CASE("fabric: problems of NICs and of switches are said together") {
  RunSpec run = run_on(dgx_h100_like(), 64);
  run.cluster.node.nics = 16;
  run.cluster.fabric.nodes_per_leaf = 48;
  CHECK(problems_of(run).find("16 NICs for 8 GPUs") != std::string::npos);
  CHECK(problems_of(run).find("48 nodes and 48 uplinks") != std::string::npos);
  run.cluster.fabric.tiers.clear();
  CHECK(problems_of(run).find("/cluster/fabric/tiers: a rail_optimised fabric of 0 tiers of "
                              "switches; use 1, 2 or 3") != std::string::npos);
}

TEST_CASE("fabric: a leaf switch has as many ports as it has") {
  // 48 nodes and 48 uplinks need 96 ports of 64; at 4:1, 48 + 12 = 60 fit
  RunSpec run = run_on(dgx_h100_like(), 64);
  run.cluster.fabric.nodes_per_leaf = 48;
  CHECK(problems_of(run) ==
        "test.json:/cluster/fabric/nodes_per_leaf: 48 nodes and 48 uplinks on a leaf switch of 64 "
        "ports; use at most 32, more ports or more oversubscription\n");
  run.cluster.fabric.tiers[0].oversubscription = 4;
  CHECK(problems_of(run) == "none");
}

TEST_CASE("fabric: tiers that cannot join the nodes are refused") {
  // one tier joins one group of 32 nodes; two tiers join 64 / 8 = 8 groups, 256 nodes
  RunSpec run = run_on(dgx_h100_like(), 33 * 8);
  run.cluster.fabric.tiers.resize(1);
  CHECK(problems_of(run).find("one tier joins 32 nodes, the run occupies 33") != std::string::npos);
  run = run_on(dgx_h100_like(), 257 * 8);
  run.cluster.fabric.tiers.resize(2);
  CHECK(problems_of(run).find("two tiers of 64-port spines join 256 nodes, the run occupies 257") !=
        std::string::npos);
  run = run_on(dgx_h100_like(), 256 * 8);
  run.cluster.fabric.tiers.resize(2);
  CHECK(problems_of(run) == "none");
}

TEST_CASE("fabric: a single node has one node") {
  RunSpec run = run_on(dgx_h100_like(), 9);
  run.cluster.fabric.family = "single_node";
  CHECK(problems_of(run) ==
        "test.json:/gpus: 9 GPUs need 2 nodes, a single_node cluster has one of 8; use at most 8, "
        "or a cluster with a fabric\n");
}

TEST_CASE("fabric: absurd sizes are refused") {
  RunSpec run = run_on(dgx_h100_like(), 8);
  run.nodes = std::int64_t{1} << 40;
  CHECK(problems_of(run) ==
        "test.json:/gpus: 1,099,511,627,776 nodes of 8 GPUs; use 1 to 2147483 GPUs\n");
}

// ---- routes ------------------------------------------------------------------------------------

TEST_CASE("fabric: inside a node a byte crosses the sender's and the receiver's NVLink") {
  const Fabric fabric = make_fabric(run_on(dgx_h100_like(), 64));
  CHECK(names(fabric, 1, 6) == Names{"node0.gpu1.nvlink.tx", "node0.gpu6.nvlink.rx"});
  CHECK(latency_us(fabric, 1, 6) == Approx(0.7));
}

TEST_CASE("fabric: the same rail of a leaf group is one switch away") {
  // node 31 is the last of group 0. NIC 2.7 us + 1 switch 0.3 us
  const Fabric fabric = make_fabric(run_on(dgx_h100_like(), 512));
  CHECK(names(fabric, 3, 31 * 8 + 3) == Names{"node0.nic3.tx", "node31.nic3.rx"});
  CHECK(latency_us(fabric, 3, 31 * 8 + 3) == Approx(3.0));
}

TEST_CASE("fabric: the same rail of another leaf group is three switches away") {
  // group 1 starts at node 32; its leaf of rail 3 is 1 * 8 + 3 = 11. 2.7 + 3 * 0.3 us
  const Fabric fabric = make_fabric(run_on(dgx_h100_like(), 512));
  CHECK(names(fabric, 3, 40 * 8 + 3) ==
        Names{"node0.nic3.tx", "leaf3.up", "leaf11.down", "node40.nic3.rx"});
  CHECK(latency_us(fabric, 3, 40 * 8 + 3) == Approx(3.6));
}

TEST_CASE("fabric: with PXN a cross-rail message changes rail over the sender's NVLink") {
  // 0.7 us NVLink + 2.7 us NIC + 1 switch
  const Fabric fabric = make_fabric(run_on(dgx_h100_like(), 64));
  CHECK(names(fabric, 1, 8 + 5) ==
        Names{"node0.gpu1.nvlink.tx", "node0.gpu5.nvlink.rx", "node0.nic5.tx", "node1.nic5.rx"});
  CHECK(latency_us(fabric, 1, 8 + 5) == Approx(3.7));
}

TEST_CASE("fabric: without PXN a cross-rail message goes through the spine") {
  RunSpec run = run_on(dgx_h100_like(), 64);
  run.cluster.fabric.pxn = false;
  const Fabric fabric = make_fabric(run);
  CHECK(names(fabric, 1, 8 + 5) ==
        Names{"node0.nic1.tx", "leaf1.up", "leaf5.down", "node1.nic5.rx"});
  CHECK(latency_us(fabric, 1, 8 + 5) == Approx(3.6));
}

TEST_CASE("fabric: a third tier appears when two cannot join the groups") {
  // 40-port spines: two tiers join 40 / 8 = 5 groups of 20 nodes. 101 nodes need a core; a spine
  // then has 20 ports down, 2 groups a pod: 6 groups make 3 pods, and node 100 is in pod 2.
  const Fabric two = make_fabric(run_on(dgx_a100_like(), 100 * 8));
  CHECK(find_links(two, "pod0").empty());
  const Fabric three = make_fabric(run_on(dgx_a100_like(), 101 * 8));
  CHECK(find_links(three, "pod2").size() == 2);
  CHECK(find_links(three, "pod3").empty());
  CHECK(names(three, 0, 100 * 8) == Names{"node0.nic0.tx", "leaf0.up", "pod0.up", "pod2.down",
                                          "leaf40.down", "node100.nic0.rx"});
  CHECK(latency_us(three, 0, 100 * 8) == Approx(2.7 + 5 * 0.3));
  // groups 0 and 1 share pod 0
  CHECK(names(three, 0, 20 * 8) ==
        Names{"node0.nic0.tx", "leaf0.up", "leaf8.down", "node20.nic0.rx"});
}

TEST_CASE("fabric: a PCIe link stands between GPU and NIC when the cluster states one") {
  // 32 GB/s x 0.8 below the NIC's 47 GB/s; both ends add 0.5 us
  RunSpec run = run_on(dgx_h100_like(), 64);
  run.cluster.node.pcie = LinkSpec{BytesPerSecond{32e9}, 0.8, Seconds{0.5e-6}};
  const Fabric fabric = make_fabric(run);
  CHECK(names(fabric, 2, 8 + 2) ==
        Names{"node0.pcie2.tx", "node0.nic2.tx", "node1.nic2.rx", "node1.pcie2.rx"});
  CHECK(capacity(fabric, "node1.pcie7.rx") == Approx(25.6e9));
  CHECK(latency_us(fabric, 2, 8 + 2) == Approx(2.7 + 0.3 + 1.0));
  CHECK(fabric.links_per_node == 16 + 16 + 16);
}

TEST_CASE("fabric: a single node of 72 GPUs has 144 links and no network") {
  RunSpec run = run_on(dgx_h100_like(), 8);
  run.cluster.node.gpus = 72;
  run.cluster.node.gpus_used = 64;
  run.cluster.fabric.family = "single_node";
  const Fabric fabric = make_fabric(run);
  CHECK(fabric.links.size() == 144);
  CHECK(names(fabric, 0, 71) == Names{"node0.gpu0.nvlink.tx", "node0.gpu71.nvlink.rx"});
  check_fabric(fabric);
}

// ---- capacities --------------------------------------------------------------------------------

TEST_CASE("fabric: a link's capacity is bandwidth times efficiency, a bundle's that of its NICs") {
  // 450 x 0.82; 50 x 0.94; 32 nodes x 47
  const Fabric fabric = make_fabric(run_on(dgx_h100_like(), 64));
  CHECK(capacity(fabric, "node0.gpu0.nvlink.tx") == Approx(369e9));
  CHECK(capacity(fabric, "node7.nic7.rx") == Approx(47e9));
  CHECK(capacity(fabric, "leaf0.up") == Approx(32 * 47e9));
}

TEST_CASE("fabric: full bisection never binds, oversubscription does once the leaf is full") {
  // 64 nodes fill two groups. At 2:1 a leaf has 16 x 47 up for 32 NICs; with 16 nodes in the group
  // the bundle, built for 32, still carries all
  CHECK_FALSE(can_bind(make_fabric(run_on(dgx_h100_like(), 512)), "leaf9.up"));
  RunSpec run = run_on(dgx_h100_like(), 512);
  run.cluster.fabric.tiers[0].oversubscription = 2;
  const Fabric full = make_fabric(run);
  CHECK(capacity(full, "leaf9.up") == Approx(16 * 47e9));
  CHECK(can_bind(full, "leaf9.up"));
  CHECK(can_bind(full, "leaf9.down"));
  run = run_on(dgx_h100_like(), 16 * 8);
  run.cluster.fabric.tiers[0].oversubscription = 2;
  CHECK_FALSE(can_bind(make_fabric(run), "leaf3.up"));
  CHECK(can_bind(full, "node0.nic0.tx"));
}

TEST_CASE("fabric: the third tier has its own oversubscription") {
  // 101 nodes: pods of 2 groups of 20 nodes of 8 NICs of 23.5 GB/s. At 7:1 the spine gives 35 of
  // its 40 ports down: 4 groups a pod, 640 NICs x 23.5 / 7
  RunSpec run = run_on(dgx_a100_like(), 101 * 8);
  const Fabric even = make_fabric(run);
  CHECK(capacity(even, "pod0.up") == Approx(320 * 23.5e9));
  CHECK_FALSE(can_bind(even, "pod0.up"));
  run.cluster.fabric.tiers[1].oversubscription = 7;
  const Fabric uneven = make_fabric(run);
  CHECK(capacity(uneven, "pod1.down") == Approx(640 * 23.5e9 / 7));
  CHECK(can_bind(uneven, "pod0.up"));
  CHECK_FALSE(can_bind(uneven, "leaf0.up"));
}

TEST_CASE("fabric: an oversubscribed leaf leaves a pod of the same bundles redundant") {
  // 2:1 at the leaf, 1:1 above: the pod's uplinks equal the sum of its leaves'
  RunSpec run = run_on(dgx_a100_like(), 101 * 8);
  run.cluster.fabric.tiers[0].oversubscription = 2;
  const Fabric fabric = make_fabric(run);
  CHECK(can_bind(fabric, "leaf0.up"));
  CHECK_FALSE(can_bind(fabric, "pod0.up"));
}

// ---- sizes -------------------------------------------------------------------------------------

TEST_CASE("fabric: links are linear in nodes, up to 131,072 GPUs") {
  // per node 16 NVLink + 16 NIC; per group 8 leaves x 2; per pod 2. 16,384 nodes = 512 groups,
  // 4 a pod = 128 pods
  const Fabric fabric = make_fabric(run_on(dgx_h100_like(), 131072));
  CHECK(fabric.links.size() == 16384 * 32 + 512 * 16 + 128 * 2);
  CHECK(fabric.gpu_speed.size() == 131072);
  CHECK(link_name(fabric, count(fabric.links) - 1) == "pod127.down");
  check_fabric(fabric);
}

TEST_CASE("fabric: only occupied nodes are built, the last in full") {
  // 20 ranks occupy 3 nodes
  const Fabric fabric = make_fabric(run_on(dgx_h100_like(), 20));
  CHECK(fabric.nodes == 3);
  CHECK(fabric.links.size() == 3 * 32 + 16);
  CHECK(fabric.gpu_speed.size() == 24);
}

TEST_CASE("fabric: every name finds its link, and both directions without one") {
  const Fabric fabric = make_fabric(run_on(dgx_a100_like(), 101 * 8));
  for (LinkId link = 0; link < count(fabric.links); ++link) {
    REQUIRE(find_links(fabric, link_name(fabric, link)) == std::vector<LinkId>{link});
  }
  CHECK(find_links(fabric, "node3.gpu5.nvlink").size() == 2);
  CHECK(find_links(fabric, "node3.nic2").size() == 2);
  CHECK(find_links(fabric, "leaf4").size() == 2);
  CHECK(find_links(fabric, "node3").empty());
  CHECK(find_links(fabric, "node3.gpu5").empty());
  CHECK(find_links(fabric, "node101.nic0").empty());
  CHECK(find_links(fabric, "").empty());
}

TEST_CASE("fabric: the dump has one line a link") {
  RunSpec run = run_on(dgx_h100_like(), 8);
  run.perturbations = {{Perturbation::Kind::gpu, 3, "", 0.5, false, 0}};
  const std::string text = dump_fabric(make_fabric(run));
  CHECK(text.find(
            "fabric dgx-h100-like family rail_optimised nodes 1 gpus_per_node 8 links 48\n") == 0);
  CHECK(text.find("link 0 node0.gpu0.nvlink.tx 369.0 GB/s\n") != std::string::npos);
  CHECK(text.find("link 32 leaf0.up 1.504 TB/s never binds\n") != std::string::npos);
  CHECK(text.find("gpu 3 speed 0.5\n") != std::string::npos);
}

// ---- ranks -------------------------------------------------------------------------------------

TEST_CASE("node_map: ranks fill the used GPUs of node after node") {
  RunSpec run = run_on(dgx_h100_like(), 8);
  run.cluster.node.gpus_used = 6;
  run.gpus = 14;
  run.nodes = 3;
  const NodeMap map = make_node_map(run);
  // nodes hold 6, 6 and 2 ranks of 8 slots
  CHECK(map.gpu_of_rank == std::vector<GpuId>{0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 16, 17});
}

}  // namespace shardsim
