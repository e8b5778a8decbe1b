#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/assumptions.h"
#include "report/perturbations.h"
#include "report/writers/writers.h"
#include "sample_report.h"
#include "support/catch.h"

using namespace shardsim;
using Json = nlohmann::ordered_json;

namespace {

bool has(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

RunSpec run_of_source(const std::string& source) {
  RunSpec run = sample_report().run;
  run.stack.source = source;
  return run;
}

}  // namespace

TEST_CASE("assumptions: a source was cut at a semicolon inside its sentence or its parentheses") {
  const auto lines = [](const std::string& source) {
    return assumptions_of(run_of_source(source));
  };
  CHECK(has(lines("Docs say so. elementwise_factor: Megatron fuses kernels; 1 assumed."),
            "stack sample-stack: elementwise_factor: Megatron fuses kernels; 1 assumed"));
  CHECK(has(lines("assumed: between tuned kernels (0.80-0.90; quack) and a copy (0.75; network)"),
            "stack sample-stack: assumed: between tuned kernels (0.80-0.90; quack) and a copy "
            "(0.75; network)"));
  CHECK(has(lines("A: measured, v. 2.30. B et al. 2022: read off; hop: assumed 0.5 us; x: known"),
            "stack sample-stack: hop: assumed 0.5 us"));
}

TEST_CASE("assumptions: fewer KV heads than tp said nothing of who holds them") {
  RunSpec run = sample_report().run;  // tp 8
  run.model.kv_heads = 4;
  CHECK(has(assumptions_of(run),
            "4 KV heads on tp 8: each is held by 2 ranks of a TP group (kv_strategy shared), so K "
            "and V weights are cut to 1/4, not 1/8, and those ranks sum their gradients"));
  run.model.kv_heads = 8;
  for (const std::string& line : assumptions_of(run)) CHECK_FALSE(has(line, "KV heads"));
}

TEST_CASE("perturbations: they appeared nowhere in a report") {
  RunReport report = sample_report();
  report.run.perturbations.resize(2);
  report.run.perturbations[0].index = 17;  // a GPU
  report.run.perturbations[0].factor = 0.8;
  report.run.perturbations[1].kind = Perturbation::Kind::link;
  report.run.perturbations[1].link = "node3.nic2";
  report.run.perturbations[1].factor = 0.5;
  const std::string words = "GPU 17 at 0.8 of its speed; link node3.nic2 at 0.5 of its bandwidth";
  CHECK(perturbations_text(report.run) == words);
  CHECK(has(write_text(report), "perturbed " + words.substr(0, 40)));
  const Json json = Json::parse(write_json(report));
  CHECK(json["perturbations"].dump() ==
        R"([{"gpu":17,"speed":0.8},{"link":"node3.nic2","bandwidth":0.5}])");
  CHECK(has(write_csv(std::vector<RunReport>{report}), words));
  RunReport other = sample_report();
  report.name = "slow";
  other.name = "sound";
  const Comparison comparison = make_comparison({other, report});
  CHECK(has(write_text(comparison), "perturbed\n  slow\n"));
  CHECK(Json::parse(write_json(comparison))["runs"][1]["perturbations"].size() == 2);
}
