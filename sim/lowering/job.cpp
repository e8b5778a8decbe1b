#include "lowering/job.h"

#include <algorithm>

#include "base/errors.h"
#include "platform/kernel_time.h"

namespace shardsim {
namespace {

bool is_message(const Communication& communication) {
  return communication.primitive == Primitive::send || communication.primitive == Primitive::recv;
}

bool changes_links(const Perturbation& perturbation) {
  return perturbation.kind == Perturbation::Kind::link ||
         perturbation.kind == Perturbation::Kind::rail ||
         perturbation.kind == Perturbation::Kind::spine;
}

// The machine as built, whose figures all groups of a shape share.
struct NominalFabric {
  explicit NominalFabric(const RunSpec& run, const Fabric& actual) {
    if (std::none_of(run.perturbations.begin(), run.perturbations.end(), changes_links)) {
      fabric = &actual;
      return;
    }
    RunSpec unperturbed = run;
    unperturbed.perturbations.clear();
    own = make_fabric(unperturbed);
    fabric = &own;
  }
  Fabric own;
  const Fabric* fabric = nullptr;
};

std::int32_t groups_index(LoweringJob& job, const GroupKey& key) {
  for (std::int32_t i = 0; i < count(job.groups); ++i) {
    if (at(job.groups, i).key == key) {
      return i;
    }
  }
  job.groups.push_back(find_groups(job.grid, job.fabric, job.map, key));
  return count(job.groups) - 1;
}

// Figures of the first group of a shape, found when asked for.
class ShapeFigures {
 public:
  ShapeFigures(const LoweringJob& job, const Fabric& fabric)
      : job_(job), fabric_(fabric), routes_(fabric) {}

  PartFigures get(std::int32_t groups, std::int32_t shape, Part part) {
    const std::array<std::int32_t, 3> key{groups, shape, static_cast<std::int32_t>(part)};
    const auto found = known_.find(key);
    if (found != known_.end()) {
      return found->second;
    }
    const Groups& all = at(job_.groups, groups);
    std::vector<GpuId> gpus;
    for (const Rank member : all.members_of(at(all.first_group_of_shape, shape))) {
      gpus.push_back(at(job_.map.gpu_of_rank, member));
    }
    const PartFigures figures =
        slowest_figures(fabric_, routes_, gpus, at(all.shapes, shape), part);
    known_.emplace(key, figures);
    return figures;
  }

 private:
  const LoweringJob& job_;
  const Fabric& fabric_;
  RouteSummer routes_;
  std::map<std::array<std::int32_t, 3>, PartFigures> known_;
};

std::vector<Carriage> carry_collective(const LoweringJob& job, ShapeFigures& figures,
                                       const Communication& communication, std::int32_t groups) {
  std::vector<Carriage> result;
  const Groups& all = at(job.groups, groups);
  for (std::int32_t shape = 0; shape < count(all.shapes); ++shape) {
    if (all.size == 1 || communication.bytes.value() == 0) {
      result.emplace_back();
      continue;
    }
    Chosen chosen = choose_algorithm(
        communication.primitive, communication.bytes, at(all.shapes, shape), job.run,
        [&](Part part) { return figures.get(groups, shape, part); }, job.options.step_by_step);
    result.push_back({.phases = std::move(chosen.phases), .time_alone = chosen.time});
  }
  return result;
}

Carriage carry_message(const LoweringJob& job, const Communication& communication) {
  if (communication.bytes.value() == 0) {
    return {};
  }
  const PartFigures unused;
  Chosen chosen = choose_algorithm(Primitive::send, communication.bytes, {.ranks = 2}, job.run,
                                   [&](Part) { return unused; });
  return {.phases = std::move(chosen.phases)};
}

}  // namespace

LoweringJob make_job(const Program& program, const RunSpec& run, const RankGrid& grid,
                     const Fabric& fabric, const NodeMap& map, const LoweringOptions& options) {
  SHARDSIM_CHECK(collective_problems(run).empty(), "a collective has an unknown algorithm");
  LoweringJob job{.program = program,
                  .run = run,
                  .grid = grid,
                  .fabric = fabric,
                  .map = map,
                  .options = options};
  SHARDSIM_CHECK(
      count(map.gpu_of_rank) == grid.ranks() && count(program.program_of_rank) == grid.ranks(),
      "the grid, the program and the node map differ in their number of ranks");
  for (const KernelShape& kernel : program.kernels) {
    job.kernel_seconds.push_back(kernel_time(kernel, fabric.cluster.gpu, run.stack));
  }
  job.host_per_kernel = host_time_per_kernel(fabric.cluster.gpu, run.stack);
  for (const Communication& communication : program.communications) {
    job.groups_of_communication.push_back(
        is_message(communication)
            ? -1
            : groups_index(job, {.axes = communication.group,
                                 .end_stages_only = communication.end_stages_only,
                                 .neighbours = communication.neighbours,
                                 .strided = communication.strided,
                                 .mirrored_stages = communication.mirrored_stages,
                                 .spread = communication.spread}));
  }
  const NominalFabric nominal(run, fabric);
  ShapeFigures figures(job, *nominal.fabric);
  for (std::size_t i = 0; i < program.communications.size(); ++i) {
    const std::int32_t groups = job.groups_of_communication[i];
    const Communication& communication = program.communications[i];
    job.carriages.push_back(groups < 0 ? std::vector{carry_message(job, communication)}
                                       : carry_collective(job, figures, communication, groups));
  }
  return job;
}

}  // namespace shardsim
