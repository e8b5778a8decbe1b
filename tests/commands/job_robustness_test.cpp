// Whatever a run asks for, it is refused as the user's fault or becomes a job that every stage's
// checker accepts: never a fault of this program.
#include <random>

#include "commands/read_job.h"
#include "commands/simulate.h"
#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

struct Setting {
  const char* key;
  std::vector<const char*> values;  // from small to absurd
};

const std::vector<Setting> kSettings{
    {"gpus", {"1", "2", "8", "12", "16", "24", "64"}},
    {"parallel.tp", {"1", "2", "4", "8", "16"}},
    {"parallel.pp", {"1", "2", "4"}},
    {"parallel.vpp", {"1", "2"}},
    {"parallel.cp", {"1", "2", "4"}},
    {"parallel.cp_comm", {"p2p", "all_gather", "a2a", "a2a+p2p"}},
    {"parallel.sp", {"true", "false"}},
    {"parallel.ep", {"1", "2", "8"}},
    {"parallel.etp", {"1", "2"}},
    {"parallel.zero", {"0", "1", "2", "3"}},
    {"parallel.zero_group", {"1", "2"}},
    {"parallel.order", {"dp-tp-cp-ep-pp", "pp-dp-ep-cp-tp", "tp-pp-dp-cp-ep"}},
    {"parallel.layers_per_stage", {"[0,4]", "[4,0]", "[1,3]", "[0,1,2,1]"}},
    {"parallel.layout", {"Et*2|t*2L", "E|t*4|L", "Et|t|t|tL"}},
    {"parallel.kv_strategy", {"shared", "replicate", "gather"}},
    {"parallel.vocab_cut", {"vocab", "hidden", "none"}},
    {"batch.global", {"1", "8", "16", "64"}},
    {"batch.micro", {"1", "2", "10000000"}},
    {"batch.sequence", {"1", "16", "4096", "1000000000"}},
    {"model.layers", {"1", "3", "4", "10"}},
    {"model.heads", {"1", "2", "64"}},
    {"model.kv_heads", {"1", "2", "8"}},
    {"model.vocab", {"1", "100", "100000000"}},
    {"model.moe",
     {R"({"experts": 8, "top_k": 2, "expert_ffn": 512})",
      R"({"experts": 2, "top_k": 1, "expert_ffn": 1, "capacity_factor": 0.01})"}},
    {"training.schedule", {"gpipe", "zb-h1", "zb-h2", "zb-1p", "zb-2p", "dualpipe"}},
    {"training.recompute", {"selective", "full"}},
    {"training.recompute_layers", {"1", "2", "3"}},
    {"training.precision", {"fp16", "bf16", "fp8"}},
    {"training.attention", {"flash", "unfused"}},
    {"training.grad_bucket", {"1 B", "1 PB"}},
    {"training.overlap_slowdown", {"0.3", "1"}},
    {"training.p2p_scatter_gather", {"true"}},
    {"stack.kernels", {"eager"}},
    {"stack.p2p", {"blocking"}},
    {"cluster.node.gpus_used", {"1", "3", "8"}},
    {"cluster.node.nics.count", {"0", "1", "2", "9"}},
    {"cluster.node.nvlink.efficiency", {"1e-300", "1e-6", "1"}},
    {"cluster.node.pcie", {R"({"bandwidth_per_direction": "1 B/s"})"}},
    {"cluster.fabric.family", {"fat_tree", "single_node", "single_switch"}},
    {"cluster.fabric.nodes_per_leaf", {"1", "2", "1000"}},
    {"cluster.fabric.tiers", {"[]", R"([{"radix": 2}])", R"([{"radix": 64}])"}},
    {"cluster.gpu.memory_bandwidth", {"1 B/s", "10 PB/s"}},
    {"collectives.all_reduce.algorithm", {"ring", "hierarchical", "tree"}},
    {"perturbations",
     {R"([{"gpu": 0, "speed": 1e-6}])", R"([{"rail": 1, "bandwidth": 0.5}])",
      R"([{"link": "node1.nic0", "bandwidth": 1e-9}])"}}};

// REQUIRES from >= 1. The same on every platform, unlike std::uniform_int_distribution.
std::size_t below(std::mt19937& random, std::size_t from) { return random() % from; }

Overrides random_overrides(std::mt19937& random) {
  Overrides overrides;
  for (std::size_t i = 0; i <= below(random, 4); ++i) {
    const Setting& setting = kSettings[below(random, kSettings.size())];
    overrides.push_back(std::string(setting.key) + "=" +
                        setting.values[below(random, setting.values.size())]);
  }
  return overrides;
}

}  // namespace

TEST_CASE("job robustness: random settings are refused or become a sound job") {
  use_test_data();
  std::mt19937 random(1);
  int sound = 0;
  for (int round = 0; round < 400; ++round) {
    const Overrides overrides = random_overrides(random);
    std::string told;
    for (const std::string& one : overrides) told += " --set '" + one + "'";
    INFO(told);
    try {
      const RunSpec run = read_job_text(
          R"({"model": "llama-mini", "cluster": "pod", "gpus": 16,
              "parallel": {"tp": 2}, "batch": {"sequence": 4096, "global": 16}})",
          "run.json", overrides);
      (void)prepare(run, {.coalesce = CoalesceMode::automatic, .check = true});
      ++sound;
    } catch (const ConfigError& error) {
      for (const Problem& problem : error.problems()) {
        CHECK_FALSE(problem.file.empty());
        CHECK_FALSE(problem.right.empty());
      }
    }
  }
  CHECK(sound > 80);
}

// Slow beyond measure, times became infinite and the replay never ended.
TEST_CASE("job robustness: rates are far enough from zero for times to be finite") {
  use_test_data();
  const auto errors = [](const std::string& setting) {
    return errors_of([&] { return read_job(data_path() + "/run.json", {setting}); });
  };
  CHECK(errors("cluster.gpu.peak.bf16=1e-9 FLOP/s") ==
        "--set:/cluster/gpu/peak/bf16: \"1e-9 FLOP/s\" is out of range; use a value from 1 MFLOP/s "
        "to 10000 PFLOP/s");
  CHECK(errors("perturbations=[{\"gpu\": 0, \"speed\": 1e-300}]") ==
        "--set:/perturbations/0/speed: 1e-300 is out of range; use a number from 1e-06 to 1");
  CHECK(errors("cluster.node.nvlink.efficiency=1e-300") ==
        "--set:/cluster/node/nvlink/efficiency: 1e-300 is out of range; use a number from 1e-06 to "
        "1");
}
