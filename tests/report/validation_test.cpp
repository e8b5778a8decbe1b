#include "report/validation.h"

#include "report/writers/writers.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

TimeRecord record(const std::string& id, const std::string& layout, double predicted,
                  double measured, Half half = Half::check) {
  TimeRecord one;
  one.id = id;
  one.source = "paper";
  one.half = half;
  one.categories = {"one node"};
  one.job = "job";
  one.layout = layout;
  one.timed = "step";
  one.predicted_s = predicted;
  one.measured_s = measured;
  return one;
}

const ErrorSummary* find(const std::vector<ErrorSummary>& all, const std::string& name, Half half,
                         bool strict) {
  for (const ErrorSummary& one : all) {
    if (one.name == name && one.half == half && one.strict == strict) return &one;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("validation: mean, median, bias and largest error by source, half and strictness") {
  std::vector<TimeRecord> records{
      record("a", "tp1", 1.1, 1), record("b", "tp2", 0.8, 1), record("c", "tp4", 1.0, 1),
      record("d", "tp8", 3.0, 1), record("e", "tp1", 2.0, 1, Half::fit)};
  records[3].assumed = {"batch.micro"};
  const Validation validation = make_validation(records, {}, {});
  const ErrorSummary* strict = find(validation.sources, "paper", Half::check, true);
  REQUIRE(strict != nullptr);
  CHECK(strict->count == 3);
  CHECK(strict->mean_abs == Approx(0.1));
  CHECK(strict->median_abs == Approx(0.1));
  CHECK(strict->bias == Approx(-0.1 / 3));
  CHECK(strict->max_abs == Approx(0.2));
  REQUIRE(find(validation.sources, "paper", Half::check, false) != nullptr);
  CHECK(find(validation.sources, "paper", Half::check, false)->mean_abs == Approx(2));
  REQUIRE(find(validation.overall, "", Half::fit, true) != nullptr);
  CHECK(find(validation.overall, "", Half::fit, true)->mean_abs == Approx(1));
  const ErrorSummary* category = find(validation.categories, "one node", Half::check, true);
  REQUIRE(category != nullptr);
  CHECK(category->count == 4);  // strict or not
}

TEST_CASE("validation: layouts of one job are ranked, those measured within 2 % left out") {
  // measured order a < b < c; b and c 1 % apart; the prediction takes b for the best
  const Validation validation = make_validation(
      {record("a", "tp1", 1.2, 1.0), record("b", "tp2", 1.1, 1.25), record("c", "tp4", 1.3, 1.26)},
      {}, {});
  REQUIRE(validation.ranks.size() == 1);
  CHECK(validation.ranks[0].jobs == 1);
  CHECK(validation.ranks[0].pairs == 2);    // a-b, a-c
  CHECK(validation.ranks[0].ordered == 1);  // a-c
  CHECK(validation.ranks[0].mean_regret == Approx(0.25));
}

TEST_CASE("validation: records that differ in the micro batch alone are a sweep") {
  const Validation validation = make_validation(
      {record("a", "tp1", 1, 1), record("b", "tp1", 1, 1), record("c", "tp2", 1, 1)}, {}, {});
  const ErrorSummary* sweep = find(validation.categories, "micro-batch sweep", Half::check, true);
  REQUIRE(sweep != nullptr);
  CHECK(sweep->count == 2);
}

TEST_CASE("validation: shares of memory have no unit, bytes do; equal reasons count together") {
  MemoryRecord peak;
  peak.id = "m";
  peak.source = "paper";
  peak.figure = "peak";
  peak.predicted = 2e9;
  peak.measured = 1e9;
  MemoryRecord share = peak;
  share.figure = "activation share";
  const Validation validation = make_validation(
      {}, {peak, share}, {{"x", "paper", "no stack"}, {"y", "paper", "no stack"}});
  const std::string json = write_json(validation);
  CHECK(json.find("\"predicted_bytes\":2000000000.0") != std::string::npos);
  CHECK(json.find("\"predicted\":2000000000.0") != std::string::npos);
  CHECK(write_text(validation, false).find("2 records not scored: no stack") != std::string::npos);
}
