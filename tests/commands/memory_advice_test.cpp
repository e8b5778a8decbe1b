#include "commands/memory_advice.h"

#include "commands/simulate.h"
#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

RunSpec read(const std::string& text, const Overrides& overrides) {
  use_shipped_data();
  return read_run_text(text, "run.json", overrides);
}

std::vector<MemoryChange> advice(const std::string& text, const Overrides& overrides = {}) {
  const RunSpec run = read(text, overrides);
  REQUIRE_FALSE(memory_use(program_of(run), run).fits);
  return advise(run, [&](const Overrides& more) {
    Overrides all = overrides;
    all.insert(all.end(), more.begin(), more.end());
    return read(text, all);
  });
}

}  // namespace

// EleutherAI/gpt-neox#606: a 20 B model on two A100 of 40 GB. 20.5 B parameters x 18 B over tp 2
// are 185 GB a GPU: no setting helps, only GPUs. With tp 4 and pp 4 a GPU holds 18 B x 20.5 B / 16
// = 23 GB and activations.
TEST_CASE("memory advice: a hopeless job is told how many GPUs it takes") {
  const std::string neox = R"({
    "model": { "name": "gpt-neox-20b", "layers": 44, "hidden": 6144, "ffn": 24576, "heads": 64,
               "vocab": 50257, "gated_mlp": false, "tied_embeddings": false, "norm": "layernorm",
               "position": "rope" },
    "cluster": "dgx-a100-hdr", "gpus": 2, "parallel": { "tp": 2 },
    "batch": { "micro": 1, "global": 8, "sequence": 2048 }})";
  const auto changes = advice(neox, {"cluster.gpu=a100-sxm-40g"});
  REQUIRE_FALSE(changes.empty());
  CHECK(changes.back().fits);
  CHECK(changes.back().gpus > 8);
  CHECK(changes.back().gpus <= 32);
  CHECK(changes.back().overrides.front() == "gpus=" + std::to_string(changes.back().gpus));
}

// llama3-8b, 8 GPUs of 80 GiB: 18 B x 8 B = 145 GB without ZeRO, 58 GB with the optimizer over 8.
TEST_CASE("memory advice: the fewest changes come first") {
  const std::string text = R"({ "model": "llama3-8b", "cluster": "dgx-h100", "gpus": 8,
    "batch": { "micro": 1, "global": 8, "sequence": 2048 } })";
  const auto changes = advice(text);
  REQUIRE_FALSE(changes.empty());
  for (const MemoryChange& change : changes) {
    CHECK(change.fits);
    CHECK(change.gpus == 8);
    CHECK(change.overrides.size() == 1);
  }
  CHECK(changes.front().overrides.front() == "parallel.zero=1");
}
