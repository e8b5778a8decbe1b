#include "platform/perturbation.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "base/text.h"
#include "platform/link_names.h"
#include "spec/json_value.h"

namespace shardsim {

namespace {

void slow_gpus(Fabric& fabric, std::int64_t first, std::int64_t gpus, double factor) {
  for (std::int64_t gpu = first; gpu < first + gpus; ++gpu) {
    at(fabric.gpu_speed, gpu) *= factor;
  }
}

void slow_links(Fabric& fabric, const std::vector<LinkId>& links, double factor) {
  for (const LinkId link : links) {
    FabricLink& slowed = at(fabric.links, link);
    slowed.capacity = slowed.capacity * factor;
  }
}

std::vector<LinkId> links_of_rail(const Fabric& fabric, std::int64_t rail) {
  std::vector<LinkId> links;
  for (LinkId link = 0; link < count(fabric.links); ++link) {
    if (fabric.family->rail_of(fabric, link) == rail) {
      links.push_back(link);
    }
  }
  return links;
}

// What one entry names and the fabric does not have.
void check_entry(const RunSpec& run, const Fabric& fabric, std::size_t index,
                 std::vector<Problem>& problems) {
  const Perturbation& entry = run.perturbations[index];
  const std::string pointer = fmt::format("/perturbations/{}", index);
  if (entry.kind == Perturbation::Kind::link && find_links(fabric, entry.link).empty()) {
    problems.push_back({run.file, pointer + "/link",
                        fmt::format("no link is named {}", brief_quote(entry.link)),
                        nearest_link(fabric, entry.link)});
  }
  if (entry.kind == Perturbation::Kind::rail && entry.index >= fabric.rails) {
    problems.push_back(
        {run.file, pointer + "/rail",
         fmt::format("the {} fabric has {}, no rail {}", fabric.family->name,
                     fabric.rails == 0 ? "no rails" : counted(fabric.rails, "rail"), entry.index),
         fabric.rails == 0 ? "name a link instead" : "use " + range_text(0, fabric.rails - 1)});
  }
}

void apply_entry(const Perturbation& entry, Fabric& fabric) {
  const std::int64_t gpus = fabric.cluster.node.gpus;
  switch (entry.kind) {
    case Perturbation::Kind::gpu:
      slow_gpus(fabric, entry.index, 1, entry.factor);
      break;
    case Perturbation::Kind::node:
      slow_gpus(fabric, entry.index * gpus, gpus, entry.factor);
      break;
    case Perturbation::Kind::link:
      slow_links(fabric, find_links(fabric, entry.link), entry.factor);
      break;
    case Perturbation::Kind::rail:
      slow_links(fabric, links_of_rail(fabric, entry.index), entry.factor);
      break;
    case Perturbation::Kind::spine:
    case Perturbation::Kind::jitter:
      break;
  }
}

}  // namespace

std::vector<Problem> absent_places(const RunSpec& run, const Fabric& fabric) {
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < run.perturbations.size(); ++i) {
    check_entry(run, fabric, i, problems);
  }
  return problems;
}

void apply_perturbations(const RunSpec& run, Fabric& fabric) {
  for (const Perturbation& entry : run.perturbations) {
    apply_entry(entry, fabric);
  }
}

}  // namespace shardsim
