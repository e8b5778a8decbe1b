#include "commands/simulate.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "analysis/analysis.h"
#include "lowering/lowering.h"
#include "replay/replay.h"
#include "sharding/rank_grid.h"
#include "spec/reader.h"
#include "trace/check_trace.h"
#include "workload/build_program.h"
#include "workload/check_program.h"

namespace shardsim {

RunSpec read_job(const std::string& file, const std::vector<std::string>& overrides,
                 const std::optional<std::string>& text) {
  return text ? read_run_text(*text, file, overrides, fabric_problems)
              : read_run(file, overrides, fabric_problems);
}

Program program_of(const RunSpec& run) {
  check_collectives(run);
  return build_program(run, RankGrid(run.parallel));
}

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
  prepared.folded = fold(lowered, options.fold);
  if (options.check) check_folded(prepared.folded);
  if (options.coalesce == CoalesceMode::automatic) {
    prepared.folded = coalesce(std::move(prepared.folded));
    if (options.check) check_folded(prepared.folded);
  }
  return prepared;
}

RunReport report_on(const Prepared& prepared, const Trace& trace, const SimulateOptions& options) {
  if (options.check) check_trace(trace);
  const Analysis analysis = analyze(trace, prepared.program, prepared.run);
  std::vector<NodeId> node_of_rank;
  node_of_rank.reserve(prepared.nodes.gpu_of_rank.size());
  for (GpuId gpu : prepared.nodes.gpu_of_rank) {
    node_of_rank.push_back(prepared.fabric.node_of(gpu));
  }
  return make_run_report(prepared.run, prepared.program, analysis, trace, node_of_rank);
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
