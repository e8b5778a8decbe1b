#include "report/comparison.h"

#include <nlohmann/json.hpp>

#include "report/writers/writers.h"
#include "sample_report.h"
#include "support/catch.h"

using namespace shardsim;
using Json = nlohmann::ordered_json;

namespace {

Comparison sample_comparison() {
  RunReport intra = sample_report();
  RunReport cross = sample_cross_report();
  intra.name = "intra";
  cross.name = "cross";
  return make_comparison({intra, cross});
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("run report: the kind of a link is read from its name") {
  CHECK(link_kind("node0.gpu3.nvlink.tx") == LinkKind::nvlink);
  CHECK(link_kind("node12.nic7.rx") == LinkKind::nic);
  CHECK(link_kind("leaf4.up") == LinkKind::switch_link);
  CHECK(link_kind("") == LinkKind::none);
}

TEST_CASE("run report: groups know how their ranks sit on the nodes") {
  // tp is fastest: 8 ranks in one node of 8. dp strides 8: its 4 ranks sit on 4 nodes.
  const RunReport report = sample_report();
  REQUIRE(report.groups.size() == 3);
  CHECK(report.groups[0].group == "tp");
  CHECK(report.groups[0].ranks == 8);
  CHECK(report.groups[0].ranks_per_node == 8);
  CHECK(report.groups[0].nodes == 1);
  CHECK(report.groups[0].bytes == 100.0 * 33'554'432);
  CHECK(report.groups[0].bound_kind == LinkKind::nvlink);
  CHECK(report.groups[0].quoted == BytesPerSecond{450e9});
  const GroupUse* dp = find_group(report, "dp");
  REQUIRE(dp != nullptr);
  CHECK(dp->ranks == 4);
  CHECK(dp->ranks_per_node == 1);
  CHECK(dp->nodes == 4);
  CHECK(find_group(sample_cross_report(), "tp")->ranks_per_node == 1);
}

TEST_CASE("comparison: causes sum to the difference, which is positive when slower") {
  const Comparison comparison = sample_comparison();
  REQUIRE(comparison.differences.size() == 1);
  const Difference& difference = comparison.differences[0];
  CHECK(difference.run == "cross");
  CHECK(difference.against == "intra");
  CHECK(difference.total_s == Approx(2.0));  // 4 s - 2 s
  CHECK(difference.by_cause.total() == Approx(difference.total_s).epsilon(1e-12));
  CHECK(difference.by_cause[Bin::tp] == Approx(1.6));
  CHECK(difference.by_cause[Bin::bubble] == Approx(0.4));
}

TEST_CASE("comparison: exposed TP time and the links that bound it, like for like") {
  const Difference difference = sample_comparison().differences[0];
  CHECK(difference.tp_exposed_ratio == Approx(5.0));  // 2.0 s / 0.4 s
  CHECK(difference.tp_link.against_kind == LinkKind::nvlink);
  CHECK(difference.tp_link.kind == LinkKind::nic);
  CHECK(difference.tp_link.quoted == Approx(9.0));   // 450 / 50
  CHECK(difference.tp_link.reached == Approx(8.0));  // 400 / 50
  REQUIRE(difference.changes.size() == 3);
  CHECK(difference.changes[0].collective == "attention out all_reduce");
  CHECK(difference.changes[0].exposed_s == Approx(1.6));
  CHECK(difference.changes[0].link == "node0.nic0.tx");
}

TEST_CASE("comparison: a run without TP communication has no ratio") {
  RunReport none = sample_report();
  none.analysis.breakdown[Bin::compute] += none.analysis.breakdown[Bin::tp];
  none.analysis.breakdown[Bin::tp] = 0;
  none.groups.clear();
  const Comparison comparison = make_comparison({none, sample_report()});
  CHECK(comparison.differences[0].tp_exposed_ratio == 0);
  const Json json = Json::parse(write_json(comparison));
  CHECK(json["differences"][0]["tp"]["exposed_ratio"].is_null());
  CHECK(json["differences"][0]["tp"]["link"]["bandwidth_ratio"].is_null());
}

TEST_CASE("comparison: JSON has runs in the order given and one difference per further run") {
  const Json json = Json::parse(write_json(sample_comparison()));
  CHECK(json["runs"].size() == 2);
  CHECK(json["runs"][0]["name"] == "intra");
  CHECK(json["runs"][1]["step_time_s"] == 4.0);
  CHECK(json["runs"][1]["groups"][0]["bound"] == "NIC");
  const Json& difference = json["differences"][0];
  CHECK(difference["run"] == "cross");
  double sum = 0;
  for (const auto& cause : difference["by_cause"]) sum += cause.get<double>();
  CHECK(sum == Approx(difference["total_s"].get<double>()).epsilon(1e-12));
}

TEST_CASE("comparison: the text lets a user see which link and which ratio he has") {
  const std::string text = write_text(sample_comparison());
  CHECK(has(text, "step time: +2.000 s (2.00x)"));
  CHECK(has(text, "exposed TP (tp + sp): 2.000 s against 400.0 ms: 5.00x"));
  CHECK(has(text, "NVLink against NIC, one direction each: 9.00x as"));
  CHECK(has(text, "8 ranks, 1 per node, on 8 nodes"));
  CHECK(has(text, "8 ranks, 8 per node, on 1 node"));
  CHECK(has(text, "3.355 GB"));  // 100 messages of 33,554,432 bytes
}

TEST_CASE("comparison: warnings of the runs were in the JSON alone") {
  const std::string text = write_text(sample_comparison());
  CHECK(has(text, "\nwarnings\n  intra\n    - sp with tp = 1 has no effect\n  cross\n"));
}

TEST_CASE("comparison: two runs had columns with one head") {
  // Six names that differ only in the middle, where clipping cuts.
  std::vector<RunReport> runs;
  for (const char* order : {"tp-dp", "dp-tp"}) {
    for (const char* sequence : {"1024", "2048", "4096"}) {
      runs.push_back(sample_report());
      runs.back().name = std::string("parallel.order=") + order + " batch.sequence=" + sequence;
    }
  }
  const std::string text = write_text(make_comparison(runs));
  CHECK(has(text, "runs\n  [1] parallel.order=tp-dp batch.sequence=1024\n  [2] "));
  CHECK(has(text, "  [6] parallel.order=dp-tp batch.sequence=4096\n"));
  CHECK(has(text, "[6] parallel.order=dp-tp batch.sequence=4096 against [1] "));
  CHECK_FALSE(has(text.substr(0, text.find("TFLOP/s, MFU")), ".."));
  const std::string short_names = write_text(sample_comparison());
  CHECK_FALSE(has(short_names, "[1]"));
}
