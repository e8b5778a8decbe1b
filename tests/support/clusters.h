// Clusters for tests, built in C++ so that no test depends on a file: shaped like the shipped
// DGX files, with round figures where a hand calculation profits. Change a copy, not these.
//   RunSpec run = run_on(dgx_h100_like(), 64);   // 64 GPUs, 8 nodes
#pragma once

#include <cstdint>
#include <utility>

#include "spec/run_spec.h"

namespace shardsim::test {

// 100 TFLOP/s bf16 and fp16, 200 TFLOP/s fp8, 1 TB/s HBM, 100 SMs; everything at efficiency 1.
inline GpuSpec round_gpu() {
  GpuSpec gpu;
  gpu.name = "round";
  gpu.source = "test";
  gpu.memory_capacity = Bytes{std::int64_t{80} << 30};
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.sms = 100;
  gpu.peak = {{Precision::bf16, FlopPerSecond{1e14}},
              {Precision::fp16, FlopPerSecond{1e14}},
              {Precision::fp8, FlopPerSecond{2e14}}};
  gpu.host_time_per_kernel = Seconds{5e-6};
  gpu.efficiency.gemm = {GemmEfficiency::Model::k_ramp, 1.0, 0.0, "test"};
  gpu.efficiency.attention["2"] = {1.0, 1.0, 0.0, "test"};
  gpu.efficiency.memory = {1.0, "test"};
  return gpu;
}

inline GpuSpec h100_like() {
  GpuSpec gpu = round_gpu();
  gpu.name = "h100-like";
  gpu.memory_bandwidth = BytesPerSecond{3.35e12};
  gpu.sms = 132;
  gpu.peak = {{Precision::bf16, FlopPerSecond{989e12}},
              {Precision::fp16, FlopPerSecond{989e12}},
              {Precision::fp8, FlopPerSecond{1979e12}}};
  gpu.host_time_per_kernel = Seconds{7e-6};
  gpu.watts = Watts{700};
  gpu.efficiency.gemm = {GemmEfficiency::Model::tiles, 0.768, 300, "test"};
  gpu.efficiency.attention["2"] = {0.37, 0.32, 200, "test"};
  gpu.efficiency.attention["3"] = {0.60, 0.50, 500, "test"};
  gpu.efficiency.memory = {0.80, "test"};
  return gpu;
}

inline GpuSpec a100_like() {
  GpuSpec gpu = round_gpu();
  gpu.name = "a100-like";
  gpu.memory_bandwidth = BytesPerSecond{2.039e12};
  gpu.sms = 108;
  gpu.peak = {{Precision::bf16, FlopPerSecond{312e12}}, {Precision::fp16, FlopPerSecond{312e12}}};
  gpu.host_time_per_kernel = Seconds{7e-6};
  gpu.watts = Watts{400};
  gpu.efficiency.gemm = {GemmEfficiency::Model::tiles, 0.903, 464, "test"};
  gpu.efficiency.attention["2"] = {0.62, 0.52, 200, "test"};
  gpu.efficiency.attention["3"] = {0.62, 0.52, 200, "test"};
  gpu.efficiency.memory = {0.861, "test"};
  return gpu;
}

// 8 GPUs a node: NVLink 450 GB/s x 0.82 = 369 GB/s, NICs 50 GB/s x 0.94 = 47 GB/s each way;
// 32 nodes a leaf group, three tiers of 64-port switches, full bisection. No corrections.
inline ClusterSpec dgx_h100_like() {
  ClusterSpec cluster;
  cluster.name = "dgx-h100-like";
  cluster.source = "test";
  cluster.gpu = h100_like();
  cluster.node.gpus = 8;
  cluster.node.gpus_used = 8;
  cluster.node.nvlink = {BytesPerSecond{450e9}, 0.82, Seconds{0.7e-6}};
  cluster.node.in_switch_reduction = true;
  cluster.node.nics = 8;
  cluster.node.nic = {BytesPerSecond{50e9}, 0.94, Seconds{2.7e-6}};
  cluster.fabric.family = "rail_optimised";
  cluster.fabric.nodes_per_leaf = 32;
  cluster.fabric.tiers = {{64, 1.0}, {64, 1.0}, {64, 1.0}};
  cluster.fabric.hop_latency = Seconds{0.3e-6};
  return cluster;
}

// As above with A100s: NVLink 300 x 0.82 = 246 GB/s, NICs 25 x 0.94 = 23.5 GB/s, 20 nodes a leaf
// group, 40-port switches.
inline ClusterSpec dgx_a100_like() {
  ClusterSpec cluster = dgx_h100_like();
  cluster.name = "dgx-a100-like";
  cluster.gpu = a100_like();
  cluster.node.nvlink.bandwidth_per_direction = BytesPerSecond{300e9};
  cluster.node.in_switch_reduction = false;
  cluster.node.nic.bandwidth_per_direction = BytesPerSecond{25e9};
  cluster.fabric.nodes_per_leaf = 20;
  cluster.fabric.tiers = {{40, 1.0}, {40, 1.0}, {40, 1.0}};
  return cluster;
}

// A run that occupies `gpus` GPUs of the cluster; model and layout are left to the test.
inline RunSpec run_on(ClusterSpec cluster, std::int64_t gpus) {
  RunSpec run;
  run.file = "test.json";
  run.gpus = gpus;
  run.nodes = (gpus + cluster.node.gpus_used - 1) / cluster.node.gpus_used;
  run.stack.name = "test";
  run.cluster = std::move(cluster);
  return run;
}

}  // namespace shardsim::test
