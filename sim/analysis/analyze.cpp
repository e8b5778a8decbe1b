#include "analysis/parts.h"
#include "base/ids.h"
#include "sharding/parameters.h"

namespace shardsim {

Analysis analyze(const Trace& trace, const Program& program, const RunSpec& run) {
  const TraceIndex index = make_trace_index(trace);
  std::vector<Breakdown> of_classes;
  CollectiveSums collectives;
  std::vector<Piece> pieces;
  for (std::int32_t r = 0; r < count(trace.ranks); ++r) {
    cut_compute_stream(index, r, pieces);
    of_classes.push_back(sum_pieces(index, r, pieces));
    add_collectives(index, r, pieces, collectives);
  }
  Analysis result;
  result.step_s = trace.step_s;
  result.breakdown = mean_breakdown(trace, of_classes, -1);
  for (std::int32_t stage = 0; stage < stage_count(trace); ++stage) {
    result.breakdown_per_stage.push_back(mean_breakdown(trace, of_classes, stage));
  }
  result.critical_path = critical_path(index);
  result.rates = rates(run, trace.step_s);
  result.memory = memory_use(program, run);
  result.links = link_utilisation(trace);
  result.collectives = collective_rows(trace, collectives);
  const ParameterCount parameters = count_parameters(run.model);
  result.parameters = parameters.total;
  result.active_parameters = parameters.active;
  return result;
}

}  // namespace shardsim
