#include "platform/topologies/nvswitch_node.h"

#include <fmt/format.h>

#include "base/text.h"

namespace shardsim {

namespace {

constexpr const char* kDirections[] = {"tx", "rx"};

[[nodiscard]] std::int32_t gpus_of(const NodeSpec& node) {
  return static_cast<std::int32_t>(node.gpus);
}
[[nodiscard]] std::int32_t nics_of(const NodeSpec& node) {
  return static_cast<std::int32_t>(node.nics);
}
[[nodiscard]] LinkId first_of_node(const Fabric& fabric, NodeId node) {
  return node * fabric.links_per_node;
}

}  // namespace

BytesPerSecond capacity_of(const LinkSpec& link) {
  return link.bandwidth_per_direction * link.efficiency;
}

void check_nics(const RunSpec& run, std::vector<Problem>& problems) {
  const NodeSpec& node = run.cluster.node;
  if (node.nics < 1) {
    problems.push_back({run.file, "/cluster/node/nics",
                        fmt::format("a {} fabric joins the NICs of its nodes, these have none",
                                    run.cluster.fabric.family),
                        fmt::format("state nics, or use family \"single_node\" and at most {}",
                                    counted(node.gpus_used, "GPU"))});
  } else if (node.nics > node.gpus) {
    problems.push_back(
        {run.file, "/cluster/node/nics/count",
         fmt::format("{} for {}: each GPU uses one NIC", counted(node.nics, "NIC"),
                     counted(node.gpus, "GPU")),
         fmt::format("use {}, several NICs of a GPU as one of their summed bandwidth",
                     range_text(1, node.gpus))});
  }
}

std::int32_t nvswitch_links_per_node(const NodeSpec& node) {
  return 2 * gpus_of(node) + (node.pcie ? 4 : 2) * nics_of(node);
}

void append_nvswitch_node(const NodeSpec& node, std::vector<FabricLink>& links) {
  links.insert(links.end(), static_cast<std::size_t>(2 * node.gpus), {capacity_of(node.nvlink)});
  links.insert(links.end(), static_cast<std::size_t>(2 * node.nics), {capacity_of(node.nic)});
  if (node.pcie) {
    links.insert(links.end(), static_cast<std::size_t>(2 * node.nics), {capacity_of(*node.pcie)});
  }
}

std::string nvswitch_link_name(const Fabric& fabric, LinkId link) {
  const NodeSpec& node = fabric.cluster.node;
  std::int32_t index = link % fabric.links_per_node;
  const std::int32_t id = link / fabric.links_per_node;
  const char* direction = kDirections[index % 2];
  index /= 2;
  if (index < gpus_of(node)) {
    return fmt::format("node{}.gpu{}.nvlink.{}", id, index, direction);
  }
  index -= gpus_of(node);
  if (index < nics_of(node)) {
    return fmt::format("node{}.nic{}.{}", id, index, direction);
  }
  return fmt::format("node{}.pcie{}.{}", id, index - nics_of(node), direction);
}

std::int32_t nic_of_gpu(const NodeSpec& node, std::int32_t gpu) {
  return static_cast<std::int32_t>(gpu * node.nics / node.gpus);
}

LinkId nvlink_link(const Fabric& fabric, NodeId node, std::int32_t gpu, Direction direction) {
  return first_of_node(fabric, node) + 2 * gpu + static_cast<std::int32_t>(direction);
}

LinkId nic_link(const Fabric& fabric, NodeId node, std::int32_t nic, Direction direction) {
  return first_of_node(fabric, node) + 2 * (gpus_of(fabric.cluster.node) + nic) +
         static_cast<std::int32_t>(direction);
}

void append_nic(const Fabric& fabric, NodeId node, std::int32_t nic, Direction direction,
                std::vector<LinkId>& links) {
  const LinkId port = nic_link(fabric, node, nic, direction);
  if (!fabric.cluster.node.pcie) {
    links.push_back(port);
    return;
  }
  const LinkId pcie = port + 2 * nics_of(fabric.cluster.node);
  const bool out = direction == Direction::tx;
  links.push_back(out ? pcie : port);
  links.push_back(out ? port : pcie);
}

void append_nvlink(const Fabric& fabric, NodeId node, std::int32_t from, std::int32_t to,
                   Route& out) {
  out.links.push_back(nvlink_link(fabric, node, from, Direction::tx));
  out.links.push_back(nvlink_link(fabric, node, to, Direction::rx));
  out.latency += fabric.cluster.node.nvlink.latency;
}

std::int32_t nic_of_link(const Fabric& fabric, LinkId link) {
  const NodeSpec& node = fabric.cluster.node;
  const std::int32_t index = (link % fabric.links_per_node) / 2 - gpus_of(node);
  return index < 0 ? -1 : index % nics_of(node);
}

}  // namespace shardsim
