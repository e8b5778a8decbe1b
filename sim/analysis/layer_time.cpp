#include "analysis/layer_time.h"

#include <algorithm>
#include <limits>

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

std::int32_t middle_layer(const TraceTemplate& pass) {
  std::int32_t last = -1;
  for (const TraceOp& op : pass.ops) last = std::max(last, op.layer);
  return last < 0 ? -1 : last / 2;
}

double span_of(const TraceRank& rank, const TracePass& pass, const TraceTemplate& operations,
               std::int32_t layer) {
  double first = std::numeric_limits<double>::infinity();
  double last = 0;
  for (std::int32_t i = 0; i < count(operations.ops); ++i) {
    const TraceOp& op = at(operations.ops, i);
    if (op.layer == layer && op.category != Category::dp) {
      first = std::min(first, at(rank.start_s, pass.first_op + i));
      last = std::max(last, at(rank.end_s, pass.first_op + i));
    }
  }
  return std::max(0.0, last - first);
}

// Of the first pass of that kind that has layers; 0 when there is none.
double span_of_first(const Trace& trace, PassKind kind) {
  const TraceRank& rank = trace.ranks.front();
  for (const TracePass& pass : at(trace.programs, rank.program).passes) {
    const TraceTemplate& operations = at(trace.templates, pass.pass_template);
    const std::int32_t layer = middle_layer(operations);
    if (operations.kind == kind && layer >= 0) return span_of(rank, pass, operations, layer);
  }
  return 0;
}

}  // namespace

LayerTime layer_time(const Trace& trace) {
  SHARDSIM_CHECK(trace.chains.empty(), "layers of a coalesced trace have no times of their own");
  const LayerTime time{
      .forward_s = span_of_first(trace, PassKind::forward),
      .backward_s =
          span_of_first(trace, PassKind::backward) + span_of_first(trace, PassKind::weight)};
  SHARDSIM_CHECK(time.forward_s > 0 && time.backward_s > 0, "no pass of the trace has a layer");
  return time;
}

}  // namespace shardsim
