// Whatever a run file holds, the reader reads it or says what is wrong; it never does a third
// thing.
#include <fstream>
#include <iterator>
#include <random>

#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

std::string base_text() {
  std::ifstream in(data_path() + "/run.json");
  return {std::istreambuf_iterator<char>(in), {}};
}

// Reads, or throws ConfigError whose every problem has a file and a text.
void must_read_or_explain(const std::string& text) {
  try {
    const RunSpec run = read_text(text);
    CHECK(run.gpus > 0);
    CHECK(run.batch.micro_batches > 0);
    CHECK(run.parallel.tp * run.parallel.cp * run.parallel.pp * run.parallel.dp == run.gpus);
  } catch (const ConfigError& error) {
    CHECK_FALSE(error.problems().empty());
    for (const Problem& problem : error.problems()) {
      CHECK_FALSE(problem.file.empty());
      CHECK_FALSE(problem.what.empty());
    }
  }
}

// Values that are wrong, extreme or in the wrong place somewhere.
const std::vector<std::string> kSpices{"0",
                                       "-1",
                                       "1e9",
                                       "1e308",
                                       "9223372036854775807",
                                       "18446744073709551616",
                                       "0.5",
                                       "null",
                                       "true",
                                       "\"\"",
                                       "[]",
                                       "{}",
                                       "\"2 GiB\"",
                                       "\"-1 us\"",
                                       "[1]",
                                       "\"8\"",
                                       "1e400",
                                       "NaN",
                                       "\"\\u0000\"",
                                       "{\"a\": 1, \"a\": 2}",
                                       "2097152",
                                       "3",
                                       "\"pod\""};

}  // namespace

TEST_CASE("robustness: every truncation is read or explained") {
  const std::string text = base_text();
  for (std::size_t length = 0; length <= text.size(); ++length) {
    CAPTURE(length);
    must_read_or_explain(text.substr(0, length));
  }
}

TEST_CASE("robustness: random bytes put in, taken out and changed") {
  const std::string text = base_text();
  std::mt19937 random(1);
  const auto below = [&](std::size_t size) { return random() % size; };
  for (int round = 0; round < 3000; ++round) {
    std::string mutant = text;
    for (std::size_t change = 0; change <= below(4); ++change) {
      const std::size_t at = below(mutant.size());
      switch (below(4)) {
        case 0:
          mutant[at] = static_cast<char>(below(256));
          break;
        case 1:
          mutant.erase(at, 1 + below(8));
          break;
        case 2:
          mutant.insert(at, kSpices[below(kSpices.size())]);
          break;
        default:
          mutant.insert(at, mutant.substr(below(mutant.size()), below(30)));
      }
    }
    CAPTURE(round, mutant);
    must_read_or_explain(mutant);
  }
}

TEST_CASE("robustness: every key of the file set to every strange value") {
  const std::vector<std::string> keys{"model",
                                      "model.layers",
                                      "model.heads",
                                      "model.kv_heads",
                                      "model.head_dim",
                                      "model.norm",
                                      "cluster",
                                      "cluster.gpu",
                                      "cluster.gpu.peak",
                                      "cluster.gpu.efficiency.attention",
                                      "cluster.node",
                                      "cluster.node.gpus",
                                      "cluster.node.gpus_used",
                                      "cluster.node.nics",
                                      "cluster.fabric",
                                      "cluster.fabric.tiers",
                                      "stack",
                                      "stack.training",
                                      "stack.flash_version",
                                      "gpus",
                                      "nodes",
                                      "parallel",
                                      "parallel.tp",
                                      "parallel.cp",
                                      "parallel.pp",
                                      "parallel.vpp",
                                      "parallel.dp",
                                      "parallel.order",
                                      "parallel.zero_group",
                                      "parallel.layers_per_stage",
                                      "batch",
                                      "batch.micro",
                                      "batch.global",
                                      "batch.sequence",
                                      "training",
                                      "training.schedule",
                                      "training.grad_bucket",
                                      "training.recompute_modules",
                                      "collectives",
                                      "collectives.all_reduce",
                                      "perturbations",
                                      "perturbations.0",
                                      "perturbations.0.gpu",
                                      "perturbations.1.link",
                                      "plan",
                                      "plan.tokens",
                                      "$schema"};
  use_test_data();
  for (const std::string& key : keys) {
    for (const std::string& value : kSpices) {
      CAPTURE(key, value);
      try {
        const RunSpec run = read_base({key + "=" + value});
        CHECK(run.gpus > 0);
      } catch (const ConfigError& error) {
        for (const Problem& problem : error.problems()) {
          CHECK_FALSE(problem.file.empty());
          CHECK_FALSE(problem.what.empty());
        }
      }
    }
  }
}
