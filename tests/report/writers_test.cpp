#include "report/writers/writers.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/text.h"
#include "report/writers/layout.h"
#include "sample_report.h"
#include "support/catch.h"

using namespace shardsim;
using Json = nlohmann::ordered_json;

namespace {

void check_width(const std::string& text) {
  for (const std::string& line : split(text, '\n')) {
    INFO(line);
    CHECK(columns(line) <= 80);
  }
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

RunReport with_long_names() {
  RunReport report = sample_report();
  report.run.model.name = std::string(200, 'm');
  report.run.cluster.name = "a cluster \n with a line break " + std::string(100, 'c');
  report.name = std::string(150, 'r');
  report.analysis.collectives[0].label = std::string(120, 'l');
  report.analysis.links[0].link = std::string(120, 'k');
  report.warnings.push_back(std::string(300, 'w'));
  for (std::size_t i = 0; i < kBinCount; ++i) {
    report.analysis.breakdown.seconds.at(i) = report.analysis.step_s / kBinCount;
  }
  return report;
}

}  // namespace

TEST_CASE("json writer: a number that is not finite is our fault, never an answer") {
  RunReport report = sample_report();
  report.analysis.rates.mfu = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(write_json(report), InternalError);
  report.analysis.rates.mfu = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(write_json(report), InternalError);
}

TEST_CASE("text writer: no line is wider than 80 columns, whatever the names") {
  check_width(write_text(sample_report()));
  check_width(write_text(with_long_names()));
  RunReport long_one = with_long_names();
  check_width(write_text(make_comparison(
      {long_one, sample_cross_report(), long_one, long_one, sample_report(), sample_report()})));
}

TEST_CASE("text writer: the answers are there with their units and conventions") {
  const std::string text = write_text(sample_report());
  CHECK(has(text, "step time      2.000 s"));
  CHECK(has(text, "tokens/s       32,768; per GPU 512.0"));
  CHECK(has(text, "230.0 per GPU (nvidia-causal: 449.20 GFLOP per token)"));
  CHECK(has(text, "MFU            23.2 % of 989.0 TFLOP/s bf16 dense (nvidia-causal)"));
  CHECK(has(text, "45.00 GiB of 80.00 GiB: fits, 35.00 GiB free"));
  CHECK(has(text, "70,553,706,496 parameters"));
  CHECK(has(text, "ring, bound by NVLink 400.0 GB/s (node0.gpu0.nvlink.tx)"));
  CHECK(has(text, "hop_latency: assumed"));
  CHECK(has(text, "defaults taken: parallel.cp = 1, training.optimizer = adam"));
  CHECK(has(text, "set by stack sample-stack: training.overlap.tp = false"));
  CHECK(has(text, "sp with tp = 1 has no effect"));
  CHECK_FALSE(has(text, "/somewhere"));  // no path
}

TEST_CASE("text writer: what does not fit says by how much") {
  RunReport report = sample_report();
  report.analysis.memory.fits = false;
  report.analysis.memory.capacity = Bytes{std::int64_t{40} << 30};
  CHECK(has(write_text(report), "45.00 GiB of 40.00 GiB: DOES NOT FIT, 5.00 GiB too much"));
  CHECK(has(write_text(report), "`shardsim memory`"));  // what to do about it
}

TEST_CASE("json writer: the keys of a run, in their order") {
  const Json json = Json::parse(write_json(sample_report()));
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  CHECK(join(keys, " ") ==
        "step_time_s tokens_per_s tokens_per_s_per_gpu model_tflops_per_gpu mfu hfu "
        "flops_convention peak_flop_per_s peak gpus layout model perturbations memory breakdown "
        "breakdown_per_stage critical_path groups collectives links events assumptions warnings");
  CHECK(json["model"]["parameters"] == 70'553'706'496);
  CHECK(json["memory"]["peak_bytes"] == 45 * (std::int64_t{1} << 30));
  CHECK(json["memory"]["per_stage"][1]["activations_bytes"] == 8 * (std::int64_t{1} << 30));
  CHECK(json["layout"]["order"] == "tp-cp-ep-dp-pp");
  CHECK(json["events"]["flows"] == 678);
  CHECK(json["breakdown_per_stage"][1]["stage"] == 1);
  CHECK(json["breakdown_per_stage"][1]["tp_s"] == 0.4);
}

TEST_CASE("json writer: breakdown and critical path sum to the step") {
  const Json json = Json::parse(write_json(sample_report()));
  double sum = 0;
  for (const auto& bin : json["breakdown"]) sum += bin.get<double>();
  CHECK(json["breakdown"].size() == kBinCount);
  CHECK(sum == Approx(2.0).epsilon(1e-12));
  const Json& segments = json["critical_path"]["segments"];
  CHECK(segments[0]["end_s"] == segments[1]["start_s"]);
  CHECK(segments[1]["rank"] == 32);  // the representative of rank class 1
  CHECK(segments[1]["layer"].is_null());
  CHECK(segments[1]["operation"] == "attention out all_reduce");
  CHECK(segments[0]["link"].is_null());
}

// A step of 250,000 segments of 2 us: the middle 150,000 are one row.
TEST_CASE("json writer: the rows of a long critical path are bounded and still abut") {
  RunReport report = sample_report();
  PathSegment segment = report.analysis.critical_path.segments.at(1);
  segment.contention_s = 0.5e-6;
  report.analysis.critical_path.segments.clear();
  for (int i = 0; i < 250'000; ++i) {
    segment.start_s = i * 2e-6;
    segment.end_s = (i + 1) * 2e-6;
    report.analysis.critical_path.segments.push_back(segment);
  }
  const Json json = Json::parse(write_json(report));
  const Json& segments = json["critical_path"]["segments"];
  REQUIRE(segments.size() == 100'001);
  CHECK(segments[0]["start_s"] == 0.0);
  CHECK(segments[100'000]["end_s"] == 250'000 * 2e-6);
  for (std::size_t i = 1; i < segments.size(); ++i) {
    if (segments[i]["start_s"] != segments[i - 1]["end_s"]) FAIL("a gap before row " << i);
  }
  CHECK(segments[50'000]["left_out"] == 150'000);
  CHECK(segments[50'000]["contention_s"].get<double>() == Approx(0.075));
  CHECK(segments[50'000]["operation"].is_null());
  CHECK_FALSE(segments[49'999].contains("left_out"));
}

TEST_CASE("report: an MFU above one went without a word") {
  RunReport report = sample_report();
  Analysis analysis = report.analysis;
  analysis.rates.mfu = 1.25;
  analysis.rates.peak = FlopPerSecond{989e12};
  analysis.rates.peak_name = "bf16 dense";
  const auto warnings = [&] {
    const std::vector<NodeId> nodes(static_cast<std::size_t>(report.run.gpus), 0);
    return make_run_report(report.run, Program{}, analysis, Trace{}, nodes).warnings;
  };
  CHECK(warnings().back() ==
        "MFU is 125.0 % of the bf16 dense peak, 989.0 TFLOP/s: more than the GPU can do; look at "
        "its peak and efficiencies");
  analysis.rates.mfu = 1;
  CHECK(warnings() == report.run.warnings);
}

TEST_CASE("json writer: doubles read back equal and the text is the same every time") {
  RunReport report = sample_report();
  report.analysis.step_s = 0.1 + 0.2;
  const std::string text = write_json(report);
  CHECK(text == write_json(report));
  CHECK(Json::parse(text)["step_time_s"].get<double>() == 0.1 + 0.2);
  CHECK(has(text, "\"step_time_s\": 0.30000000000000004"));
  CHECK_FALSE(has(text, "/somewhere"));
  CHECK(text.back() == '\n');
}

TEST_CASE("csv writer: one head, one row a run, cells quoted where they must be") {
  RunReport odd = sample_report();
  odd.run.model.name = "a, \"b\"";
  const std::vector<std::string> lines = split(write_csv({sample_report(), odd}), '\n');
  REQUIRE(lines.size() == 4);  // head, two rows, nothing after the last line break
  CHECK(lines[3].empty());
  CHECK(lines[0].rfind("name,model,parameters,gpus,tp,sp,", 0) == 0);
  CHECK(lines[1].rfind(",sample-model,70553706496,64,8,false,", 0) == 0);
  CHECK(lines[2].rfind(",\"a, \"\"b\"\"\",", 0) == 0);
  CHECK(split(lines[0], ',').size() == split(lines[1], ',').size());
}

TEST_CASE("listing writer: names and help as text, JSON and CSV") {
  const std::vector<Listing> listings{{"models", {{"a", "the first"}, {"bbb", "the, second"}}}};
  CHECK(write_text(listings) == "models\n  a    the first\n  bbb  the, second\n");
  CHECK(Json::parse(write_json(listings))["models"][1]["help"] == "the, second");
  CHECK(write_csv(listings) == "kind,name,help\nmodels,a,the first\nmodels,bbb,\"the, second\"\n");
}
