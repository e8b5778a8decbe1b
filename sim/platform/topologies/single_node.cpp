// One NVSwitch node and nothing around it: 1 GPU to an NVL72 rack. NICs, if stated, lead nowhere
// and are not built.
//
//   gpu0 gpu1 ... gpu7
//     |    |        |      nvlink tx/rx each
//   [      NVSwitch     ]
#include <fmt/format.h>

#include "base/text.h"
#include "platform/topologies/families.h"
#include "platform/topologies/nvswitch_node.h"

namespace shardsim {

namespace {

void check(const RunSpec& run, std::vector<Problem>& problems) {
  if (run.nodes > 1) {
    problems.push_back(
        {run.file, "/gpus",
         fmt::format("{} need {} nodes, a single_node cluster has one of {}",
                     counted(run.gpus, "GPU"), run.nodes, run.cluster.node.gpus_used),
         fmt::format("use at most {}, or a cluster with a fabric", run.cluster.node.gpus_used)});
  }
}

void build(Fabric& fabric) {
  fabric.cluster.node.nics = 0;
  fabric.cluster.node.pcie.reset();
  fabric.links_per_node = nvswitch_links_per_node(fabric.cluster.node);
  append_nvswitch_node(fabric.cluster.node, fabric.links);
}

void find_route(const Fabric& fabric, GpuId from, GpuId to, Route& out) {
  out.links = {nvlink_link(fabric, 0, fabric.local_of(from), Direction::tx),
               nvlink_link(fabric, 0, fabric.local_of(to), Direction::rx)};
  out.latency = fabric.cluster.node.nvlink.latency;
  out.crosses_nodes = false;
}

std::int32_t no_rail(const Fabric&, LinkId) { return -1; }
void nothing_redundant(Fabric&) {}

}  // namespace

TopologyFamily single_node_family() {
  return {"single_node", "one NVSwitch node, no network",
          check,         build,
          find_route,    nvswitch_link_name,
          no_rail,       nothing_redundant};
}

}  // namespace shardsim
