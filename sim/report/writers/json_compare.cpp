// A comparison as JSON: runs[] (name, then as in json.cpp, shortened) and differences[], one per
// run after the first, each "this run minus the first": run against total_s step_ratio by_cause{}
// tp{exposed_s against_exposed_s exposed_ratio link{}} changes[]. Ratios that do not exist (the
// first run has no TP communication) are null.
#include "report/writers/json_parts.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

Json run_json(const RunReport& report) {
  Json out = Json::object();
  out["name"] = report.name;
  add_rates(out, report);
  out["gpus"] = report.run.gpus;
  out["layout"] = layout_json(report.run);
  out["model"] = model_json(report);
  out["perturbations"] = perturbations_json(report.run);
  out["memory"] = memory_json(report.analysis.memory, false);
  out["breakdown"] = breakdown_json(report.analysis.breakdown);
  out["critical_path"] = {
      {"by_category", breakdown_json(report.analysis.critical_path.by_category)}};
  out["exposed_tp_s"] = finite(exposed_tp(report));
  out["groups"] = groups_json(report);
  out["warnings"] = report.warnings;
  return out;
}

Json positive_or_null(double value) { return value > 0 ? finite(value) : Json(nullptr); }

Json link_json(const LinkRatio& ratio) {
  Json out = Json::object();
  out["bound"] = name(ratio.kind);
  out["against_bound"] = name(ratio.against_kind);
  out["bound_link"] = or_null(ratio.link);
  out["against_bound_link"] = or_null(ratio.against_link);
  out["quoted_bandwidth_ratio"] = positive_or_null(ratio.quoted);
  out["bandwidth_ratio"] = positive_or_null(ratio.reached);
  return out;
}

Json difference_json(const Difference& difference, const RunReport& run, const RunReport& first) {
  Json out = Json::object();
  out["run"] = difference.run;
  out["against"] = difference.against;
  out["total_s"] = finite(difference.total_s);
  out["step_ratio"] = positive_or_null(difference.step_ratio);
  out["by_cause"] = breakdown_json(difference.by_cause);
  Json tp = Json::object();
  tp["exposed_s"] = finite(exposed_tp(run));
  tp["against_exposed_s"] = finite(exposed_tp(first));
  tp["exposed_ratio"] = positive_or_null(difference.tp_exposed_ratio);
  tp["link"] = link_json(difference.tp_link);
  out["tp"] = std::move(tp);
  out["changes"] = Json::array();
  for (const LargestChange& change : difference.changes) {
    Json row = Json::object();
    row["group"] = change.group;
    row["collective"] = change.collective;
    row["exposed_s"] = finite(change.exposed_s);
    row["link"] = or_null(change.link);
    out["changes"].push_back(std::move(row));
  }
  return out;
}

// An array whose elements open up one level themselves.
std::string opened(const char* key, const Json& elements) {
  std::string out = "  \"" + std::string(key) + "\": [";
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::string element = to_text(elements[i], 2);
    element.pop_back();
    for (std::size_t at = element.find('\n'); at != std::string::npos;
         at = element.find('\n', at + 1)) {
      element.insert(at + 1, "    ");
    }
    out += (i == 0 ? "\n    " : ",\n    ") + element;
  }
  return out + (elements.empty() ? "]" : "\n  ]");
}

}  // namespace

std::string write_json(const Comparison& comparison) {
  Json runs = Json::array();
  for (const RunReport& report : comparison.runs) runs.push_back(run_json(report));
  Json differences = Json::array();
  for (std::size_t i = 0; i < comparison.differences.size(); ++i) {
    differences.push_back(difference_json(comparison.differences[i], comparison.runs[i + 1],
                                          comparison.runs.front()));
  }
  return "{\n" + opened("runs", runs) + ",\n" + opened("differences", differences) + "\n}\n";
}

}  // namespace shardsim
