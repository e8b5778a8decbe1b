// Published step times against the program's, with no constant tuned to them. The runs and their
// sources are data: published_steps.json.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "commands/simulate.h"
#include "spec/reader.h"
#include "support/catch.h"

using namespace shardsim;
using Json = nlohmann::ordered_json;

namespace {

struct Published {
  std::string id;
  std::string config;
  double step_s = 0;
  double tolerance = 0;
};

std::vector<Published> published_steps() {
  std::ifstream in(SHARDSIM_TEST_DIR "/groundtruth/published_steps.json");
  std::vector<Published> steps;
  for (const Json& row : Json::parse(in)) {
    steps.push_back({row["id"], row["config"], row["step_time_s"], row["tolerance"]});
  }
  return steps;
}

std::vector<RunReport> simulate_published(const std::vector<Published>& steps) {
  std::vector<RunSpec> runs;
  for (const Published& step : steps) {
    runs.push_back(read_run(SHARDSIM_TEST_DIR "/../" + step.config, {}));
  }
  return simulate_all(runs, {});
}

}  // namespace

TEST_CASE("groundtruth: published step times are met", "[slow]") {
  const std::vector<Published> steps = published_steps();
  const std::vector<RunReport> reports = simulate_published(steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double error = reports[i].analysis.step_s / steps[i].step_s - 1;
    INFO(steps[i].id << ": predicted " << reports[i].analysis.step_s << " s, published "
                     << steps[i].step_s << " s, error " << format_percent(error));
    CHECK(std::abs(error) <= steps[i].tolerance);
  }
  // Full recompute against sequence parallel with selective recompute: 18.13 / 13.75 = 1.319.
  REQUIRE(steps.size() >= 2);
  const double published = steps[0].step_s / steps[1].step_s;
  const double predicted = reports[0].analysis.step_s / reports[1].analysis.step_s;
  INFO("ratio predicted " << predicted << ", published " << published);
  CHECK(std::abs(predicted / published - 1) <= 0.05);
}
