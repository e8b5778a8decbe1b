// torchtitan, benchmarks/llama3_h100_202412, table 5: Llama-3.1 405B on 512 H100 (96 GB, 500 W), TP
// 8, PP 8, FSDP 8, local batch 32, sequence 8192, full recompute: interleaved 1F1B makes 128
// tokens/s per GPU, 1F1B 100: 1.28 times. Micro batches of 4, as many as stages: torchtitan's
// default, assumed. Linear layers in FP8.
#include "commands/simulate.h"
#include "spec/reader.h"
#include "support/catch.h"

using namespace shardsim;

TEST_CASE("groundtruth: interleaving pays with as many micro batches as stages", "[slow]") {
  const std::string job = R"({
    "model": "llama3-405b", "cluster": "h100-96g-roce", "gpus": 512, "stack": "torchtitan",
    "parallel": {"tp": 8, "sp": true, "pp": 8, "zero": 3},
    "batch": {"micro": 4, "global": 256, "sequence": 8192},
    "training": {"precision": "fp8", "recompute": "full", "reshard_after_forward": false, "grad_sync": "step"}})";
  const std::vector<RunSpec> runs{
      read_run_text(job, "titan.json", {"parallel.layout=Et*15|(t*16|)*6t*15L"}),
      read_run_text(job, "titan.json", {"parallel.layout=Et*7|(t*8|)*14t*7L"})};
  CHECK(runs[1].parallel.vpp == 2);
  CHECK(runs[1].training.schedule == "interleaved");
  const std::vector<RunReport> reports = simulate_all(runs, {});
  const double ratio = reports[0].analysis.step_s / reports[1].analysis.step_s;
  INFO("1f1b " << reports[0].analysis.step_s << " s, interleaved " << reports[1].analysis.step_s);
  CHECK(ratio >= 1.1);
  CHECK(ratio <= 1.5);
}
