#include "report/writers/shard_cells.h"

#include <fmt/format.h>

#include "base/ids.h"
#include "base/text.h"
#include "sharding/derive.h"

namespace shardsim {

std::string shape_text(const std::vector<SizedDim>& dims) {
  std::vector<std::string> sizes;
  for (const SizedDim& dim : dims) sizes.push_back(std::to_string(dim.size));
  return "[" + join(sizes, ", ") + "]";
}

std::string dims_text(const std::vector<SizedDim>& dims) {
  std::vector<std::string> names;
  for (const SizedDim& dim : dims) names.emplace_back(name(dim.dim));
  return join(names, " ");
}

std::vector<Axis> cutting_axes(const RunSpec& run) {
  std::vector<Axis> axes;
  for (const Axis axis : {Axis::tp, Axis::cp, Axis::dp, Axis::pp, Axis::ep, Axis::etp, Axis::edp}) {
    const bool here = run.model.moe || (axis != Axis::etp && axis != Axis::edp);
    if (here && axis_size(run.parallel, axis) > 1) axes.push_back(axis);
  }
  return axes;
}

std::string stages_text(const std::vector<std::int32_t>& stages) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < stages.size();) {
    std::size_t last = i;
    while (last + 1 < stages.size() && stages[last + 1] == stages[last] + 1) ++last;
    runs.push_back(last == i ? std::to_string(stages[i])
                             : fmt::format("{}-{}", stages[i], stages[last]));
    i = last + 1;
  }
  return join(runs, ", ");
}

std::string exposed_text(const ShardPrimitive& row) {
  if (row.exposed_count == 0) return "no";
  if (row.exposed_count == row.count_per_step) return "yes";
  return fmt::format("{} of {}", row.exposed_count, row.count_per_step);
}

std::string usual_text(const ShardPrimitive& row) {
  if (!row.usual) return "";
  const auto mega = [](std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  return fmt::format("{:g}-{:g} MB", mega(row.usual->least), mega(row.usual->most));
}

}  // namespace shardsim
