// What leaving the NVLink node costs a large all_reduce on the shipped clusters.
#include "lowering/lowering.h"
#include "spec/reader.h"
#include "support/catch.h"
#include "support/clusters.h"

namespace shardsim {
namespace {

struct Facts {
  double one_per_node = 0;  // 8 GPUs on 8 nodes, over the 8 GPUs of one node
  double two_nodes = 0;     // 16 GPUs of two full nodes, over the 8 of one
};

Facts facts(const std::string& cluster, std::int64_t bytes) {
  RunSpec run = test::run_on(read_cluster(cluster), 64);
  const Fabric fabric = make_fabric(run);
  std::vector<GpuId> node;
  std::vector<GpuId> rail;
  std::vector<GpuId> pair;
  for (GpuId i = 0; i < 8; ++i) {
    node.push_back(i);
    rail.push_back(8 * i);
  }
  for (GpuId i = 0; i < 16; ++i) {
    pair.push_back(i);
  }
  const auto time = [&](const std::vector<GpuId>& gpus) {
    return collective_time_alone(Primitive::all_reduce, Bytes{bytes}, gpus, fabric, run)
        .time.value();
  };
  return {.one_per_node = time(rail) / time(node), .two_nodes = time(pair) / time(node)};
}

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// 450 x 0.82 against 50 x 0.94 GB/s each way: 7.9, plus latency and ramp.
TEST_CASE("facts: a 1 GiB all_reduce over one GPU per node on dgx-h100 costs 7 to 11 times") {
  const Facts here = facts("dgx-h100", kGiB);
  CHECK(here.one_per_node > 7);
  CHECK(here.one_per_node < 11);
}

// 900 x 0.758 against 50 x 0.94 GB/s each way: 14.5.
TEST_CASE("facts: on dgx-b200 it costs 13 to 19 times") {
  const Facts here = facts("dgx-b200", kGiB);
  CHECK(here.one_per_node > 13);
  CHECK(here.one_per_node < 19);
}

// All 8 NICs share the crossing: 8 x 47 = 376 GB/s against 369 (H100) and 682 (B200) GB/s.
TEST_CASE("facts: over the 16 GPUs of two full nodes it costs far less") {
  CHECK(facts("dgx-h100", kGiB).two_nodes < 2);
  CHECK(facts("dgx-b200", kGiB).two_nodes < 2.6);
}

TEST_CASE("facts: the bound of a collective is the link that sets its pace") {
  const RunSpec run = test::run_on(read_cluster("dgx-h100"), 64);
  const Fabric fabric = make_fabric(run);
  const auto inside =
      collective_time_alone(Primitive::all_reduce, Bytes{kGiB}, {0, 1, 2, 3}, fabric, run);
  CHECK(inside.algorithm == "ring");
  CHECK(link_name(fabric, inside.bound_link) == "node0.gpu0.nvlink.tx");
  const auto across =
      collective_time_alone(Primitive::all_gather, Bytes{kGiB}, {5, 13, 21}, fabric, run);
  CHECK(link_name(fabric, across.bound_link) == "node0.nic5.tx");
  const auto message = collective_time_alone(Primitive::send, Bytes{kGiB}, {0, 8}, fabric, run);
  CHECK(message.algorithm == "send_recv");
  CHECK(link_name(fabric, message.bound_link) == "node0.nic0.tx");
}

}  // namespace
}  // namespace shardsim
