// The links of one NVSwitch node, the part that topology families with such nodes share.
//
//   gpu g --nvlink.tx--> NVSwitch --nvlink.rx--> gpu g'          any two GPUs of the node
//   gpu g --[pcie.tx]--> nic r --nic.tx--> rail r                r = g * nics / gpus
//
// Within a node's links: per GPU nvlink tx, rx; then per NIC tx, rx; then, when the cluster states
// `pcie`, per NIC pcie tx, rx (tx: from the GPU to the NIC).
#pragma once

#include <string>
#include <vector>

#include "platform/fabric.h"

namespace shardsim {

[[nodiscard]] BytesPerSecond capacity_of(const LinkSpec& link);  // bandwidth x efficiency

// Families with a network: no NICs, or more than GPUs.
void check_nics(const RunSpec& run, std::vector<Problem>& problems);

[[nodiscard]] std::int32_t nvswitch_links_per_node(const NodeSpec& node);
void append_nvswitch_node(const NodeSpec& node, std::vector<FabricLink>& links);
[[nodiscard]] std::string nvswitch_link_name(const Fabric& fabric, LinkId link);

// The NIC that a GPU's messages use: its own, or one shared with its neighbours.
[[nodiscard]] std::int32_t nic_of_gpu(const NodeSpec& node, std::int32_t gpu);

enum class Direction : std::int32_t { tx = 0, rx = 1 };
[[nodiscard]] LinkId nvlink_link(const Fabric& fabric, NodeId node, std::int32_t gpu,
                                 Direction direction);
[[nodiscard]] LinkId nic_link(const Fabric& fabric, NodeId node, std::int32_t nic,
                              Direction direction);
// Appends a NIC and, if modelled, its PCIe link, in the order in which traffic crosses them.
void append_nic(const Fabric& fabric, NodeId node, std::int32_t nic, Direction direction,
                std::vector<LinkId>& links);
// Appends the way of a message over NVLink between two GPUs of a node, with its latency.
void append_nvlink(const Fabric& fabric, NodeId node, std::int32_t from, std::int32_t to,
                   Route& out);
// The NIC of a link of a node, -1 for NVLink links.
[[nodiscard]] std::int32_t nic_of_link(const Fabric& fabric, LinkId link);

}  // namespace shardsim
