#include "platform/fabric.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/text.h"
#include "platform/perturbation.h"
#include "spec/json_value.h"

namespace shardsim {

namespace {

// nullptr and a problem when there is none of that name.
[[nodiscard]] const TopologyFamily* find_family(const RunSpec& run,
                                                std::vector<Problem>& problems) {
  std::vector<std::string> names;
  for (const TopologyFamily& family : topology_families()) {
    if (family.name == run.cluster.fabric.family) {
      return &family;
    }
    names.push_back(quote(family.name));
  }
  problems.push_back(
      {run.file, "/cluster/fabric/family",
       quote(run.cluster.fabric.family) + ": this fabric family is not available in this version",
       "use " + join_or(names)});
  return nullptr;
}

void check_size(const RunSpec& run, std::vector<Problem>& problems) {
  // Link numbers are 32 bit; 1000 links a GPU slot is more than any family has.
  constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max() / 1000;
  const NodeSpec& node = run.cluster.node;
  if (run.nodes > kLimit / node.gpus) {
    problems.push_back(
        {run.file, "/gpus",
         fmt::format("{} of {}", counted(run.nodes, "node"), counted(node.gpus, "GPU")),
         fmt::format("use 1 to {} GPUs", kLimit)});
  }
}

// Family and size have been checked; no perturbation is applied.
[[nodiscard]] Fabric healthy_fabric(const RunSpec& run, const TopologyFamily& family) {
  Fabric fabric;
  fabric.family = &family;
  fabric.cluster = run.cluster;
  fabric.nodes = run.nodes;
  fabric.gpu_speed.assign(static_cast<std::size_t>(run.nodes * run.cluster.node.gpus), 1.0);
  family.build(fabric);
  return fabric;
}

// The family when the cluster can be built.
[[nodiscard]] const TopologyFamily* check_cluster(const RunSpec& run,
                                                  std::vector<Problem>& problems) {
  const TopologyFamily* family = find_family(run, problems);
  check_size(run, problems);
  if (family != nullptr && problems.empty()) {
    family->check(run, problems);
  }
  return problems.empty() ? family : nullptr;
}

void check_route(const Fabric& fabric, GpuId from, GpuId to) {
  Route path;
  route(fabric, from, to, path);
  SHARDSIM_CHECK(!path.links.empty(), "an empty route");
  for (LinkId link : path.links) {
    SHARDSIM_CHECK(link >= 0 && link < count(fabric.links), "a route leaves the fabric");
  }
  SHARDSIM_CHECK(path.links.front() / fabric.links_per_node == fabric.node_of(from) &&
                     path.links.back() / fabric.links_per_node == fabric.node_of(to),
                 fmt::format("route {} -> {} does not join its ends", from, to));
  SHARDSIM_CHECK(path.latency.value() >= 0, "a negative latency");
}

}  // namespace

std::vector<Problem> cluster_problems(const RunSpec& run) {
  std::vector<Problem> problems;
  (void)check_cluster(run, problems);
  return problems;
}

std::vector<Problem> perturbation_problems(const RunSpec& run) {
  std::vector<Problem> problems;
  const TopologyFamily* family = run.perturbations.empty() ? nullptr : check_cluster(run, problems);
  return family == nullptr ? std::vector<Problem>{}
                           : absent_places(run, healthy_fabric(run, *family));
}

Fabric make_fabric(const RunSpec& run) {
  std::vector<Problem> problems;
  const TopologyFamily* family = check_cluster(run, problems);
  Fabric fabric;
  if (family != nullptr) {
    fabric = healthy_fabric(run, *family);
    problems = absent_places(run, fabric);
  }
  if (!problems.empty()) {
    throw ConfigError(std::move(problems));
  }
  apply_perturbations(run, fabric);
  family->mark_redundant(fabric);
  return fabric;
}

void route(const Fabric& fabric, GpuId from, GpuId to, Route& out) {
  SHARDSIM_CHECK(from != to && from >= 0 && to >= 0 && from < count(fabric.gpu_speed) &&
                     to < count(fabric.gpu_speed),
                 fmt::format("no route {} -> {}", from, to));
  fabric.family->route(fabric, from, to, out);
}

std::string link_name(const Fabric& fabric, LinkId link) {
  return fabric.family->link_name(fabric, link);
}

std::string dump_fabric(const Fabric& fabric) {
  std::string text =
      fmt::format("fabric {} family {} nodes {} gpus_per_node {} links {}\n", fabric.cluster.name,
                  fabric.family->name, fabric.nodes, fabric.cluster.node.gpus, fabric.links.size());
  for (LinkId link = 0; link < count(fabric.links); ++link) {
    const FabricLink& row = at(fabric.links, link);
    text += fmt::format("link {} {} {}{}\n", link, link_name(fabric, link),
                        format_rate(row.capacity), row.can_bind ? "" : " never binds");
  }
  for (GpuId gpu = 0; gpu < count(fabric.gpu_speed); ++gpu) {
    if (at(fabric.gpu_speed, gpu) != 1.0) {
      text += fmt::format("gpu {} speed {}\n", gpu, at(fabric.gpu_speed, gpu));
    }
  }
  return text;
}

void check_fabric(const Fabric& fabric) {
  SHARDSIM_CHECK(fabric.family != nullptr && fabric.nodes > 0 && fabric.links_per_node > 0,
                 "a fabric without family, nodes or links");
  const std::int64_t slots = fabric.nodes * fabric.cluster.node.gpus;
  SHARDSIM_CHECK(count(fabric.gpu_speed) == slots, "one speed per GPU slot");
  SHARDSIM_CHECK(count(fabric.links) >= fabric.nodes * fabric.links_per_node, "links are missing");
  for (const FabricLink& link : fabric.links) {
    SHARDSIM_CHECK(link.capacity.value() > 0 && std::isfinite(link.capacity.value()),
                   "a link without capacity");
  }
  for (double speed : fabric.gpu_speed) {
    SHARDSIM_CHECK(speed > 0 && std::isfinite(speed), "a GPU without speed");
  }
  // A sample of pairs that reaches every node distance in steps of powers of two.
  for (std::int64_t distance = 1; distance < slots; distance *= 2) {
    const auto far = static_cast<GpuId>(distance);
    check_route(fabric, 0, far);
    check_route(fabric, far, 0);
    check_route(fabric, static_cast<GpuId>(slots - 1), static_cast<GpuId>(slots - 1 - distance));
  }
}

NodeMap make_node_map(const RunSpec& run) {
  const std::int64_t used = run.cluster.node.gpus_used;
  SHARDSIM_CHECK(used > 0 && used <= run.cluster.node.gpus && run.gpus <= run.nodes * used,
                 "the ranks do not fit on the run's nodes");
  NodeMap map;
  map.gpu_of_rank.reserve(static_cast<std::size_t>(run.gpus));
  for (std::int64_t rank = 0; rank < run.gpus; ++rank) {
    map.gpu_of_rank.push_back(
        static_cast<GpuId>(rank / used * run.cluster.node.gpus + rank % used));
  }
  return map;
}

}  // namespace shardsim
