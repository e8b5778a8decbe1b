// What a collective costs when its group leaves the NVLink node. The often quoted "18 times slower"
// compares 900 GB/s of NVLink in both directions with one NIC of 50 GB/s. Like for like, one
// direction each, H100 has 450 against 50 (9 times) and B200 900 against 50 (18 times); a group
// that fills its nodes uses all their NICs and suffers far less.
#include <numeric>

#include "lowering/lowering.h"
#include "spec/reader.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

constexpr Bytes kBuffer{std::int64_t{1} << 30};

RunSpec run_on(const std::string& cluster) {
  return read_run_text(
      R"({"model": "llama3-8b", "cluster": ")" + cluster +
          R"(", "gpus": 64, "batch": {"micro": 1, "global": 64, "sequence": 2048}})",
      "test.json");
}

// Seconds of an all-reduce of 1 GiB over the GPUs first, first + stride, ...
double all_reduce_s(const RunSpec& run, const Fabric& fabric, GpuId stride, std::size_t gpus) {
  std::vector<GpuId> places(gpus);
  for (std::size_t i = 0; i < gpus; ++i) places[i] = static_cast<GpuId>(i) * stride;
  return collective_time_alone(Primitive::all_reduce, kBuffer, places, fabric, run).time.value();
}

struct Ratios {
  double one_per_node = 0;    // 8 GPUs on 8 nodes over the 8 of one node
  double two_full_nodes = 0;  // 16 GPUs of two nodes over the 8 of one
};
Ratios ratios_on(const std::string& cluster) {
  const RunSpec run = run_on(cluster);
  const Fabric fabric = make_fabric(run);
  const double in_node = all_reduce_s(run, fabric, 1, 8);
  return {all_reduce_s(run, fabric, 8, 8) / in_node, all_reduce_s(run, fabric, 1, 16) / in_node};
}

}  // namespace

TEST_CASE("groundtruth: an all-reduce across H100 nodes costs 7 to 11 times that in one") {
  const Ratios ratios = ratios_on("dgx-h100");
  CHECK(ratios.one_per_node > 7);
  CHECK(ratios.one_per_node < 11);
  CHECK(ratios.two_full_nodes > 1);
  CHECK(ratios.two_full_nodes < 2);
}

TEST_CASE("groundtruth: an all-reduce across B200 nodes costs 13 to 19 times that in one") {
  const Ratios ratios = ratios_on("dgx-b200");
  CHECK(ratios.one_per_node > 13);
  CHECK(ratios.one_per_node < 19);
  CHECK(ratios.two_full_nodes > 1);
  CHECK(ratios.two_full_nodes < 2.6);
}
