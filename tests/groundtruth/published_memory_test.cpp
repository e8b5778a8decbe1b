// Published peaks of allocated memory against the memory walk. The framework reserve is left out:
// the figures are what the allocator handed out, not what the GPU held. Data:
// published_memory.json.
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "analysis/analysis.h"
#include "base/text.h"
#include "commands/simulate.h"
#include "spec/reader.h"
#include "support/catch.h"

using namespace shardsim;
using Json = nlohmann::ordered_json;

namespace {

RunSpec run_of(const Json& data, const Json& row) {
  const Json run{
      {"model", data["models"][row["model"].get<std::string>()]},
      {"cluster", data["cluster"]},
      {"gpus", 8},
      {"stack", "megatron-core"},
      {"parallel", row["parallel"]},
      {"batch", {{"micro", 1}, {"global", row["global"]}, {"sequence", row["sequence"]}}},
      {"training", data["training"]}};
  return read_run_text(run.dump(), "published_memory.json");
}

}  // namespace

// Nothing here is fitted, so both halves are held to the same limits: 3 % each, 1.5 % on average.
TEST_CASE("groundtruth: published peaks of memory, dense, of experts and of long contexts") {
  std::ifstream in(SHARDSIM_TEST_DIR "/groundtruth/published_memory.json");
  const Json data = Json::parse(in);
  std::map<std::string, std::vector<double>> errors;  // by half
  for (const Json& row : data["rows"]) {
    const RunSpec run = run_of(data, row);
    const Bytes peak = memory_use(program_of(run), run).peak - run.training.memory_reserve;
    const double gib = static_cast<double>(peak.value()) / (1 << 30);
    const double error = gib / row["mem_gib"].get<double>() - 1;
    INFO(row.dump() << ": predicted " << gib << " GiB, error " << format_percent(error));
    CHECK(std::abs(error) <= 0.03);
    errors[row["half"].get<std::string>()].push_back(std::abs(error));
  }
  CHECK(errors.size() == 2);
  for (const auto& [half, of_half] : errors) {
    INFO(half);
    CHECK(std::accumulate(of_half.begin(), of_half.end(), 0.0) <=
          0.015 * static_cast<double>(of_half.size()));
  }
}
