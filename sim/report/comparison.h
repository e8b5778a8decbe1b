// Two or more runs side by side: what differs, and which collective and link it came from.
//
// make_comparison: RunReports (each with a name) -> Comparison. Every difference is "this run minus
// the first": positive means slower. by_cause is the difference of the two step breakdowns, key by
// key, so it sums to the difference of the step times.
#pragma once

#include <string>
#include <vector>

#include "report/run_report.h"

namespace shardsim {

// The collective whose exposed time changed most among those of one group.
struct LargestChange {
  std::string group;
  std::string collective;  // label
  double exposed_s = 0;    // this run minus the first
  std::string link;        // that bounds it in this run (in the first, if only that has it)
};

// The link that bounds TP in this run beside the one that bounds it in the first.
struct LinkRatio {
  std::string link;
  std::string against_link;
  LinkKind kind = LinkKind::none;
  LinkKind against_kind = LinkKind::none;
  double quoted = 0;   // first's quoted bandwidth over this run's, one direction each; 0 = unknown
  double reached = 0;  // the same with what large transfers reach
};

struct Difference {
  std::string run;
  std::string against;
  double total_s = 0;
  double step_ratio = 1;  // this run's step time over the first's
  Breakdown by_cause;
  double tp_exposed_ratio = 0;  // (tp + sp) of this run over the first's; 0 = the first has none
  LinkRatio tp_link;            // link empty when either run has no TP communication
  std::vector<LargestChange> changes;  // one per group that either run has, in order of groups
};

struct Comparison {
  std::vector<RunReport> runs;
  std::vector<Difference> differences;  // one per run after the first
};

// REQUIRES: at least one run.
[[nodiscard]] Comparison make_comparison(std::vector<RunReport> runs);

// Exposed TP time of a run: tp + sp of its step breakdown.
[[nodiscard]] double exposed_tp(const RunReport& report);
[[nodiscard]] const GroupUse* find_group(const RunReport& report, const std::string& group);

}  // namespace shardsim
