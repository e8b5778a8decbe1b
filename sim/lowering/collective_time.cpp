#include <algorithm>
#include <map>

#include "base/errors.h"
#include "lowering/choose.h"
#include "lowering/lowering.h"

namespace shardsim {
namespace {

CollectiveTime message_time(Bytes bytes, const std::vector<GpuId>& gpus, const Fabric& fabric,
                            const RunSpec& run) {
  RouteSummer routes(fabric);
  RouteSum sum;
  routes.one_way(at(gpus, 0), at(gpus, 1), sum);
  const PartFigures figures{.hop_latency = sum.hop_latency, .pace = pace_of(fabric, sum.uses)};
  const Chosen chosen =
      choose_algorithm(Primitive::send, bytes, {.ranks = 2}, run, [&](Part) { return figures; });
  CollectiveTime result{.time = chosen.time, .algorithm = chosen.algorithm->name};
  if (figures.pace.link >= 0) {
    result.bound_link = figures.pace.link;
    result.bound = at(fabric.links, figures.pace.link).capacity;
  }
  return result;
}

void set_bound(const Chosen& chosen, const Fabric& fabric, const FiguresOf& figures,
               CollectiveTime& result) {
  Seconds longest{-1.0};
  for (const Phase& phase : chosen.phases) {
    const PartFigures here = figures(phase.part);
    const Seconds time = phase_time(phase, here);
    if (time > longest && phase.amount > 0 && here.pace.link >= 0) {
      longest = time;
      result.bound_link = here.pace.link;
      result.bound = at(fabric.links, here.pace.link).capacity;
      result.crossing = static_cast<std::int32_t>(here.pace.weight);
    }
  }
}

}  // namespace

CollectiveTime collective_time_alone(Primitive primitive, Bytes bytes,
                                     const std::vector<GpuId>& gpus, const Fabric& fabric,
                                     const RunSpec& run) {
  if (gpus.size() < 2 || bytes.value() == 0) {
    return {.algorithm = "none"};
  }
  if (primitive == Primitive::send || primitive == Primitive::recv) {
    return message_time(bytes, gpus, fabric, run);
  }
  std::vector<GpuId> sorted = gpus;
  std::sort(sorted.begin(), sorted.end());
  const GroupShape shape = shape_of(fabric, sorted);
  RouteSummer routes(fabric);
  std::map<Part, PartFigures> known;
  const FiguresOf figures = [&](Part part) {
    const auto found = known.find(part);
    return found != known.end()
               ? found->second
               : known.emplace(part, slowest_figures(fabric, routes, sorted, shape, part))
                     .first->second;
  };
  const Chosen chosen = choose_algorithm(primitive, bytes, shape, run, figures);
  CollectiveTime result{.time = chosen.time, .algorithm = chosen.algorithm->name};
  set_bound(chosen, fabric, figures, result);
  return result;
}

}  // namespace shardsim
