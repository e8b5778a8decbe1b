// What the hardware is, as its JSON files state it: topologies/gpus/*.json and topologies/*.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "spec/precision.h"

namespace shardsim {

// Kernel-time model of dense GEMMs on one GPU; formulas in platform/kernel_time.h.
struct GemmEfficiency {
  enum class Model { tiles, k_ramp };  // tiles: tile and wave rounding; k_ramp: K term only
  Model model = Model::k_ramp;
  double peak_fraction = 0;  // sustained fraction of the dense peak for large shapes
  double k_half = 0;         // K at which the ramp K / (K + k_half) is one half
  std::string source;
  bool operator==(const GemmEfficiency&) const = default;
};

// Fused (flash) attention of one software generation.
struct AttentionEfficiency {
  double forward_fraction = 0;   // of the dense peak at long sequence
  double backward_fraction = 0;  // of the dense peak at long sequence
  double sequence_half = 0;      // s at which the ramp s / (s + sequence_half) is one half
  std::string source;
  bool operator==(const AttentionEfficiency&) const = default;
};

struct MemoryEfficiency {
  double bandwidth_fraction = 0;  // sustained fraction of the HBM bandwidth
  std::string source;
  bool operator==(const MemoryEfficiency&) const = default;
};

struct GpuEfficiency {
  GemmEfficiency gemm;
  std::map<std::string, AttentionEfficiency>
      attention;  // by flash_version of the stack: "1" "2" "3"
  MemoryEfficiency memory;
  bool operator==(const GpuEfficiency&) const = default;
};

struct GpuSpec {
  std::string name;
  std::string source;
  Bytes memory_capacity{};
  BytesPerSecond memory_bandwidth{};
  std::int64_t sms = 0;
  std::map<Precision, FlopPerSecond> peak;  // dense, never the 2:4 sparse figure
  Seconds host_time_per_kernel{};
  std::optional<Watts> watts;
  GpuEfficiency efficiency;
  bool operator==(const GpuSpec&) const = default;
};

struct LinkSpec {
  BytesPerSecond bandwidth_per_direction{};
  double efficiency = 1.0;  // what a large transfer reaches of it
  Seconds latency{};        // per hop of a collective algorithm over this kind of link
  bool operator==(const LinkSpec&) const = default;
};

enum class NvlinkKind { switched, pairs, mesh, none };  // JSON: switch | pairs | mesh | none

struct NodeSpec {
  std::int64_t gpus = 0;
  std::int64_t gpus_used = 0;  // default: gpus (an NVL72 rack commonly uses 64)
  NvlinkKind nvlink_kind = NvlinkKind::switched;
  LinkSpec nvlink;  // per GPU
  bool in_switch_reduction = false;
  std::optional<LinkSpec> pcie;  // per NIC
  std::int64_t nics = 0;
  LinkSpec nic;  // per NIC
  bool operator==(const NodeSpec&) const = default;
};

struct TierSpec {
  std::int64_t radix = 0;         // ports of a switch of this tier
  double oversubscription = 1.0;  // down bandwidth over up bandwidth
  bool operator==(const TierSpec&) const = default;
};

enum class Spreading { ideal, hash };

struct FabricSpec {
  std::string family;  // a name of platform/topologies' table
  std::int64_t nodes_per_leaf = 0;
  std::vector<TierSpec> tiers;
  Spreading spreading = Spreading::ideal;
  std::int64_t seed = 0;
  bool pxn = true;
  Seconds hop_latency{};  // per switch crossed
  bool operator==(const FabricSpec&) const = default;
};

// Corrections to the collective model that the cluster's file states, all optional.
// The ramp is what a message of S bytes costs beyond latency and bandwidth, because protocol and
// channel count grow with the size: ramp * (S / 1 MiB)^0.4.
struct CollectiveCorrections {
  Seconds base_latency{};  // software cost of starting one collective
  Seconds node_ramp{};     // at 1 MiB, groups inside a node
  Seconds fabric_ramp{};   // at 1 MiB, groups across nodes
  bool operator==(const CollectiveCorrections&) const = default;
};

struct ClusterSpec {
  std::string name;
  std::string source;
  GpuSpec gpu;
  NodeSpec node;
  FabricSpec fabric;
  CollectiveCorrections corrections;
  bool operator==(const ClusterSpec&) const = default;
};

}  // namespace shardsim
