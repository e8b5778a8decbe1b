#include "commands/simulate.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "analysis/analysis.h"
#include "commands/replay_size.h"
#include "lowering/idle_perturbations.h"
#include "lowering/lowering.h"
#include "platform/kernel_time.h"
#include "replay/replay.h"
#include "sharding/rank_grid.h"
#include "trace/check_trace.h"
#include "workload/build_program.h"
#include "workload/check_program.h"

namespace shardsim {

Program program_of(const RunSpec& run) { return build_program(run, RankGrid(run.parallel)); }

Lowered lower_run(const RunSpec& run, const Program& program, const Fabric& fabric,
                  const NodeMap& nodes) {
  return lower_program(program, run, RankGrid(run.parallel), fabric, nodes);
}

Prepared prepare(const RunSpec& run, const SimulateOptions& options) {
  Prepared prepared;
  prepared.run = run;
  prepared.program = program_of(run);
  if (options.check) check_program(prepared.program, RankGrid(run.parallel));
  prepared.fabric = make_fabric(run);
  if (options.check) check_fabric(prepared.fabric);
  prepared.nodes = make_node_map(run);
  const Lowered lowered = lower_run(run, prepared.program, prepared.fabric, prepared.nodes);
  if (options.check) check_lowered(lowered);
  for (std::string& warning : idle_perturbations(run, prepared.fabric, prepared.nodes, lowered)) {
    prepared.run.warnings.push_back(std::move(warning));
  }
  prepared.folded = fold(lowered, options.fold);
  if (options.check) check_folded(prepared.folded);
  if (options.coalesce == CoalesceMode::automatic) {
    prepared.folded = coalesce(std::move(prepared.folded));
    if (options.check) check_folded(prepared.folded);
  }
  refuse_large_replay(prepared.folded, run, options);
  return prepared;
}

RunReport report_on(const Prepared& prepared, const Trace& trace, const SimulateOptions& options) {
  if (options.check) check_trace(trace);
  Analysis analysis = analyze(trace, prepared.program, prepared.run);
  std::vector<NodeId> node_of_rank;
  node_of_rank.reserve(prepared.nodes.gpu_of_rank.size());
  for (GpuId gpu : prepared.nodes.gpu_of_rank) {
    node_of_rank.push_back(prepared.fabric.node_of(gpu));
  }
  RunReport report =
      make_run_report(prepared.run, prepared.program, std::move(analysis), trace, node_of_rank);
  const std::vector<std::string> kernels = kernel_time_assumptions(
      prepared.program.kernels, prepared.run.cluster.gpu, prepared.run.stack);
  report.assumptions.insert(report.assumptions.begin(), kernels.begin(), kernels.end());
  return report;
}

RunReport simulate(const RunSpec& run, const SimulateOptions& options) {
  const Prepared prepared = prepare(run, options);
  return report_on(prepared, replay(prepared.folded, &prepared.fabric), options);
}

std::vector<RunReport> simulate_all(const std::vector<RunSpec>& runs,
                                    const SimulateOptions& options) {
  const std::size_t at_once = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  std::vector<RunReport> reports;
  for (std::size_t first = 0; first < runs.size(); first += at_once) {
    const std::size_t last = std::min(runs.size(), first + at_once);
    std::vector<Prepared> prepared;
    std::vector<ReplayChild> children;
    for (std::size_t i = first; i < last; ++i) {
      prepared.push_back(prepare(runs[i], options));
      children.push_back(start_replay(prepared.back().folded));
    }
    for (std::size_t i = 0; i < prepared.size(); ++i) {
      const Trace trace = finish_replay(children[i], prepared[i].folded, &prepared[i].fabric);
      reports.push_back(report_on(prepared[i], trace, options));
    }
  }
  return reports;
}

}  // namespace shardsim
