// The one way from a RunSpec to an Analysis and its report: build, lower, fold, replay, analyze.
//
//   RunReport report = simulate(read_job("configs/a.json", {}), {});
// Several runs replay side by side, each in a child process of its own (replay/replay.h).
#pragma once

#include <string>
#include <vector>

#include "fold/coalesce.h"
#include "fold/fold.h"
#include "lowering/lowered.h"
#include "platform/fabric.h"
#include "report/run_report.h"
#include "spec/run_spec.h"
#include "workload/program.h"

namespace shardsim {

struct SimulateOptions {
  FoldMode fold = FoldMode::automatic;
  CoalesceMode coalesce = CoalesceMode::off;
  bool check = false;  // run the checker of every stage's value
};

// Everything up to the replay.
struct Prepared {
  RunSpec run;
  Program program;
  Fabric fabric;
  NodeMap nodes;
  Folded folded;
};
[[nodiscard]] Program program_of(const RunSpec& run);
[[nodiscard]] Lowered lower_run(const RunSpec& run, const Program& program, const Fabric& fabric,
                                const NodeMap& nodes);
[[nodiscard]] Prepared prepare(const RunSpec& run, const SimulateOptions& options);
[[nodiscard]] RunReport report_on(const Prepared& prepared, const Trace& trace,
                                  const SimulateOptions& options);

// Replays in this process: once per process, for the SimGrid engine is its own.
[[nodiscard]] RunReport simulate(const RunSpec& run, const SimulateOptions& options);
// Any number of times; the replays run at the same time on the cores there are.
[[nodiscard]] std::vector<RunReport> simulate_all(const std::vector<RunSpec>& runs,
                                                  const SimulateOptions& options);

}  // namespace shardsim
