#include "platform/perturbation.h"

#include <fmt/format.h>

#include <cmath>

#include "platform/link_names.h"

namespace shardsim {

namespace {

void add_problem(const PerturbationContext& context, std::size_t index, const char* key,
                 std::string what, std::string right) {
  context.problems.push_back({context.run.file, fmt::format("/perturbations/{}/{}", index, key),
                              std::move(what), std::move(right)});
}

// Whether `value` is one of `limit` things; a problem otherwise.
bool check_index(const PerturbationContext& context, std::size_t index, const char* key,
                 std::int64_t value, std::int64_t limit) {
  if (value >= 0 && value < limit) {
    return true;
  }
  add_problem(context, index, key, fmt::format("the run's nodes have no {} {}", key, value),
              limit == 0 ? fmt::format("this fabric has no {}s", key)
                         : fmt::format("use 0 to {}", limit - 1));
  return false;
}

void slow_gpus(const PerturbationContext& context, std::size_t index, const Perturbation& entry) {
  Fabric& fabric = context.fabric;
  const std::int64_t gpus = fabric.cluster.node.gpus;
  const bool one = entry.kind == Perturbation::Kind::gpu;
  if (!check_index(context, index, one ? "gpu" : "node", entry.index,
                   one ? fabric.nodes * gpus : fabric.nodes)) {
    return;
  }
  const std::int64_t first = one ? entry.index : entry.index * gpus;
  for (std::int64_t gpu = first; gpu < first + (one ? 1 : gpus); ++gpu) {
    at(fabric.gpu_speed, gpu) *= entry.factor;
  }
}

void slow_links(const PerturbationContext& context, std::size_t index, const Perturbation& entry) {
  const std::vector<LinkId> links = find_links(context.fabric, entry.link);
  for (LinkId link : links) {
    FabricLink& slowed = at(context.fabric.links, link);
    slowed.capacity = slowed.capacity * entry.factor;
  }
  if (links.empty()) {
    add_problem(context, index, "link", fmt::format("no link is named \"{}\"", entry.link),
                nearest_link(context.fabric, entry.link));
  }
}

void slow_rail(const PerturbationContext& context, std::size_t index, const Perturbation& entry) {
  Fabric& fabric = context.fabric;
  if (!check_index(context, index, "rail", entry.index, fabric.rails)) {
    return;
  }
  for (LinkId link = 0; link < count(fabric.links); ++link) {
    if (fabric.family->rail_of(fabric, link) == entry.index) {
      FabricLink& slowed = at(fabric.links, link);
      slowed.capacity = slowed.capacity * entry.factor;
    }
  }
}

}  // namespace

void apply_perturbation(const PerturbationContext& context, std::size_t index) {
  const Perturbation& entry = context.run.perturbations[index];
  using Kind = Perturbation::Kind;
  if (entry.kind == Kind::jitter) {
    return;
  }
  if (entry.dead || entry.kind == Kind::spine) {
    add_problem(context, index, entry.dead ? "dead" : "spine",
                entry.dead ? "dead links and switches are not implemented yet"
                           : "single spines are not implemented yet",
                "use a bandwidth fraction on a link or rail");
    return;
  }
  if (!(entry.factor > 0) || !std::isfinite(entry.factor)) {
    const bool speed = entry.kind == Kind::gpu || entry.kind == Kind::node;
    add_problem(context, index, speed ? "speed" : "bandwidth",
                fmt::format("{} is no fraction", entry.factor), "use a number above 0");
    return;
  }
  switch (entry.kind) {
    case Kind::gpu:
    case Kind::node:
      slow_gpus(context, index, entry);
      break;
    case Kind::link:
      slow_links(context, index, entry);
      break;
    case Kind::rail:
      slow_rail(context, index, entry);
      break;
    case Kind::spine:
    case Kind::jitter:
      break;
  }
}

}  // namespace shardsim
