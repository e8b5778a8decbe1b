#include "spec/tables.h"

namespace shardsim {
namespace {

using Keys = std::vector<Key<GpuSpec>>;
using G = GpuSpec;

void add_chip(Keys& keys) {
  keys.push_back({{"name", filled_text(), required(), "shown in reports"},
                  [](G& g, const Parsed& v) { g.name = v.text; }});
  keys.push_back({{"source", filled_text(), required(), "where the figures come from"},
                  [](G& g, const Parsed& v) { g.source = v.text; }});
  keys.push_back({{"memory_capacity", quantity_above(Dimension::bytes, 0, 1e15), required(),
                   "memory as nvidia-smi shows it"},
                  [](G& g, const Parsed& v) { g.memory_capacity = Bytes{v.integer}; }});
  keys.push_back({{"memory_bandwidth", quantity(Dimension::bandwidth, 1, 1e16), required(),
                   "bandwidth of the memory"},
                  [](G& g, const Parsed& v) { g.memory_bandwidth = BytesPerSecond{v.number}; }});
  keys.push_back({{"sms", integer(1, 100'000), required(), "streaming multiprocessors"},
                  [](G& g, const Parsed& v) { g.sms = v.integer; }});
  keys.push_back({{"peak", object(), required(), "dense peak by number format, never sparse"}, {}});
  for (const std::string& precision : precision_names()) {
    keys.push_back({{"peak." + precision, quantity(Dimension::flop_rate, 1e6, 1e19), absent(),
                     "dense peak of the matrix units in " + precision},
                    [](G& g, const Parsed& v) {
                      const std::string wanted(v.key.substr(v.key.find('.') + 1));
                      for (std::size_t i = 0; i < precision_names().size(); ++i) {
                        if (precision_names()[i] == wanted) {
                          g.peak[static_cast<Precision>(i)] = FlopPerSecond{v.number};
                        }
                      }
                    }});
  }
  keys.push_back({{"host_time_per_kernel", quantity(Dimension::time, 0, 1), required(),
                   "time the host takes to launch one kernel"},
                  [](G& g, const Parsed& v) { g.host_time_per_kernel = Seconds{v.number}; }});
  keys.push_back({{"watts", quantity_above(Dimension::power, 0, 1e6), absent(), "power limit"},
                  [](G& g, const Parsed& v) { g.watts = Watts{v.number}; }});
}

void add_gemm(Keys& keys) {
  const std::string at = "efficiency.gemm";
  keys.push_back({{at, object(), required(), "time of dense matrix products"}, {}});
  keys.push_back({{at + ".model", choice({"tiles", "k_ramp"}), required(),
                   "tiles: tile and wave rounding and the K ramp; k_ramp: the K ramp only"},
                  [](G& g, const Parsed& v) {
                    g.efficiency.gemm.model = static_cast<GemmEfficiency::Model>(v.choice);
                  }});
  keys.push_back({{at + ".peak_fraction", fraction(), required(),
                   "sustained fraction of the peak for large shapes"},
                  [](G& g, const Parsed& v) { g.efficiency.gemm.peak_fraction = v.number; }});
  keys.push_back({{at + ".k_half", number(0, 1e6), required(), "K at which the ramp is one half"},
                  [](G& g, const Parsed& v) { g.efficiency.gemm.k_half = v.number; }});
  keys.push_back({{at + ".source", filled_text(), required(), "where the figures come from"},
                  [](G& g, const Parsed& v) { g.efficiency.gemm.source = v.text; }});
  keys.push_back({{at + ".table", any_value(), absent(), "measured efficiencies by shape"}, {}});
}

void add_attention(Keys& keys, const std::string& version) {
  const std::string at = "efficiency.attention." + version;
  const auto entry = [](G& g, const Parsed& v) -> AttentionEfficiency& {
    return g.efficiency.attention[parent_name(v.key)];
  };
  keys.push_back({{at, object(), absent(), "flash attention of version " + version}, {}});
  keys.push_back({{at + ".forward_fraction", fraction(), required(),
                   "fraction of the peak at long sequences, forward"},
                  [entry](G& g, const Parsed& v) { entry(g, v).forward_fraction = v.number; }});
  keys.push_back({{at + ".backward_fraction", fraction(), required(),
                   "fraction of the peak at long sequences, backward"},
                  [entry](G& g, const Parsed& v) { entry(g, v).backward_fraction = v.number; }});
  keys.push_back({{at + ".sequence_half", number(0, 1e8), required(),
                   "sequence at which the ramp is one half"},
                  [entry](G& g, const Parsed& v) { entry(g, v).sequence_half = v.number; }});
  keys.push_back({{at + ".source", filled_text(), required(), "where the figures come from"},
                  [entry](G& g, const Parsed& v) { entry(g, v).source = v.text; }});
}

void add_efficiency(Keys& keys) {
  keys.push_back({{"efficiency", object(), required(), "what kernels reach of the peaks"}, {}});
  add_gemm(keys);
  keys.push_back({{"efficiency.attention", object(), absent(),
                   "fused attention, by the stack's flash_version"},
                  {}});
  for (const char* version : {"1", "2", "3"}) {
    add_attention(keys, version);
  }
  keys.push_back({{"efficiency.attention.table", any_value(), absent(),
                   "measured efficiencies by sequence and head width"},
                  {}});
  keys.push_back(
      {{"efficiency.memory", object(), required(), "kernels bound by memory traffic"}, {}});
  keys.push_back(
      {{"efficiency.memory.bandwidth_fraction", fraction(), required(),
        "sustained fraction of the memory bandwidth"},
       [](G& g, const Parsed& v) { g.efficiency.memory.bandwidth_fraction = v.number; }});
  keys.push_back(
      {{"efficiency.memory.source", filled_text(), required(), "where the figures come from"},
       [](G& g, const Parsed& v) { g.efficiency.memory.source = v.text; }});
  keys.push_back({{"efficiency.memory.table", any_value(), absent(), "measured efficiencies"}, {}});
  keys.push_back(
      {{"efficiency.grouped_gemm", any_value(), absent(), "expert matrix products"}, {}});
}

}  // namespace

const std::vector<Key<GpuSpec>>& gpu_keys() {
  static const Keys table = [] {
    Keys keys;
    add_chip(keys);
    add_efficiency(keys);
    return keys;
  }();
  return table;
}

GpuSpec read_gpu_value(const JsonValue& json, const std::string& prefix, ReadLog& log) {
  GpuSpec gpu;
  read_into(gpu, json, gpu_keys(), prefix, log);
  return gpu;
}

}  // namespace shardsim
