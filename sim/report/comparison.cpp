#include "report/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/errors.h"

namespace shardsim {

double exposed_tp(const RunReport& report) {
  return report.analysis.breakdown[Bin::tp] + report.analysis.breakdown[Bin::sp];
}

const GroupUse* find_group(const RunReport& report, const std::string& group) {
  for (const GroupUse& use : report.groups) {
    if (use.group == group) return &use;
  }
  return nullptr;
}

namespace {

double ratio_or_zero(double above, double below) { return below > 0 ? above / below : 0; }

LinkRatio tp_link_ratio(const RunReport& run, const RunReport& first) {
  LinkRatio ratio;
  const GroupUse* mine = find_group(run, "tp");
  const GroupUse* theirs = find_group(first, "tp");
  if (mine == nullptr || theirs == nullptr) return ratio;
  ratio.link = mine->bound_link;
  ratio.against_link = theirs->bound_link;
  ratio.kind = mine->bound_kind;
  ratio.against_kind = theirs->bound_kind;
  ratio.quoted = ratio_or_zero(theirs->quoted.value(), mine->quoted.value());
  ratio.reached = ratio_or_zero(theirs->bound.value(), mine->bound.value());
  return ratio;
}

// Exposed time and bounding link by collective of one group.
struct Exposed {
  double seconds = 0;
  std::string link;
};
std::map<std::string, Exposed> exposed_by_label(const RunReport& report, const std::string& group) {
  std::map<std::string, Exposed> by_label;
  for (const CollectiveUse& use : report.analysis.collectives) {
    if (use.group != group) continue;
    Exposed& exposed = by_label[use.label];
    exposed.seconds += use.exposed_s;
    if (exposed.link.empty()) exposed.link = use.bound_link;
  }
  return by_label;
}

LargestChange largest_change(const RunReport& run, const RunReport& first,
                             const std::string& group) {
  std::map<std::string, Exposed> change = exposed_by_label(run, group);
  for (const auto& [label, exposed] : exposed_by_label(first, group)) {
    Exposed& mine = change[label];
    mine.seconds -= exposed.seconds;
    if (mine.link.empty()) mine.link = exposed.link;
  }
  LargestChange largest;
  largest.group = group;
  for (const auto& [label, exposed] : change) {
    if (largest.collective.empty() || std::abs(exposed.seconds) > std::abs(largest.exposed_s)) {
      largest.collective = label;
      largest.exposed_s = exposed.seconds;
      largest.link = exposed.link;
    }
  }
  return largest;
}

std::vector<LargestChange> largest_changes(const RunReport& run, const RunReport& first) {
  std::vector<std::string> groups;
  for (const RunReport* report : {&first, &run}) {
    for (const GroupUse& use : report->groups) {
      if (std::find(groups.begin(), groups.end(), use.group) == groups.end()) {
        groups.push_back(use.group);
      }
    }
  }
  std::vector<LargestChange> changes;
  for (const std::string& group : groups) changes.push_back(largest_change(run, first, group));
  return changes;
}

Difference difference(const RunReport& run, const RunReport& first) {
  Difference result;
  result.run = run.name;
  result.against = first.name;
  result.total_s = run.analysis.step_s - first.analysis.step_s;
  result.step_ratio = ratio_or_zero(run.analysis.step_s, first.analysis.step_s);
  for (std::size_t i = 0; i < kBinCount; ++i) {
    result.by_cause.seconds.at(i) =
        run.analysis.breakdown.seconds.at(i) - first.analysis.breakdown.seconds.at(i);
  }
  settle(result.by_cause, result.total_s, std::max(run.analysis.step_s, first.analysis.step_s));
  result.tp_exposed_ratio = ratio_or_zero(exposed_tp(run), exposed_tp(first));
  result.tp_link = tp_link_ratio(run, first);
  result.changes = largest_changes(run, first);
  return result;
}

}  // namespace

Comparison make_comparison(std::vector<RunReport> runs) {
  SHARDSIM_CHECK(!runs.empty(), "a comparison needs runs");
  Comparison comparison;
  comparison.runs = std::move(runs);
  for (std::size_t i = 1; i < comparison.runs.size(); ++i) {
    comparison.differences.push_back(difference(comparison.runs[i], comparison.runs[0]));
  }
  return comparison;
}

}  // namespace shardsim
