#include "workload/build_program.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "workload/chunk_pass.h"
#include "workload/optimizer_step.h"
#include "workload/schedule.h"
#include "workload/static_memory.h"
#include "workload/supported.h"

namespace shardsim {
namespace {

ScheduleInput schedule_input(const RunSpec& run, std::int32_t stage) {
  ScheduleInput input;
  input.stage = stage;
  input.stages = static_cast<std::int32_t>(run.parallel.pp);
  input.chunks = static_cast<std::int32_t>(run.parallel.vpp);
  input.micro_batches = static_cast<std::int32_t>(run.batch.micro_batches);
  return input;
}

// Without stages there is nothing to schedule: each micro batch forward, then backward.
std::vector<ScheduledPass> passes_of_stage(const RunSpec& run, const std::vector<Chunk>& chunks) {
  if (run.parallel.pp > 1) {
    return find_schedule(run.training.schedule).passes(schedule_input(run, chunks.front().stage));
  }
  std::vector<ScheduledPass> passes;
  for (std::int32_t micro = 0; micro < run.batch.micro_batches; ++micro) {
    for (const Chunk& chunk : chunks) {
      passes.push_back({PassKind::forward, micro, chunk.chunk});
    }
    for (std::size_t i = chunks.size(); i-- > 0;) {
      passes.push_back({PassKind::backward, micro, chunks[i].chunk});
    }
  }
  return passes;
}

void check_run(const RunSpec& run) {
  std::vector<Problem> problems = unsupported(run);
  if (problems.empty() && run.parallel.pp > 1) {
    const std::string objection =
        find_schedule(run.training.schedule).objection(schedule_input(run, 0));
    if (!objection.empty()) {
      problems.push_back({run.file, "/training/schedule", objection, "use 1f1b or another batch"});
    }
  }
  if (!problems.empty()) {
    throw ConfigError(std::move(problems));
  }
}

class Builder {
 public:
  explicit Builder(const RunSpec& run) : run_(run), chains_(make_chains(run)) {}

  RankProgram stage(const std::vector<Chunk>& chunks);
  [[nodiscard]] Program take() { return std::move(tables_.program); }

 private:
  std::int32_t chunk_template(PassKind kind, const Chunk& chunk, PassSync sync);
  std::int32_t add(PassTemplate made);

  const RunSpec& run_;
  ModelChains chains_;
  ProgramTables tables_;
  std::map<std::string, std::int32_t> template_of_name_;
};

std::int32_t Builder::add(PassTemplate made) {
  tables_.program.templates.push_back(std::move(made));
  return count(tables_.program.templates) - 1;
}

std::int32_t Builder::chunk_template(PassKind kind, const Chunk& chunk, PassSync sync) {
  const std::string key = pass_name(kind, chunk, sync);
  const auto found = template_of_name_.find(key);
  if (found != template_of_name_.end()) {
    return found->second;
  }
  const std::int32_t index =
      add(kind == PassKind::forward ? forward_pass(run_, chains_, chunk, sync, tables_)
                                    : backward_pass(run_, chains_, chunk, sync, tables_));
  template_of_name_.emplace(key, index);
  return index;
}

RankProgram Builder::stage(const std::vector<Chunk>& chunks) {
  RankProgram result;
  result.stage = chunks.front().stage;
  for (const Chunk& chunk : chunks) {
    result.parameters = checked_add(result.parameters, chunk_parameters(chains_, chunk));
  }
  result.memory = static_memory(run_, result.parameters);
  const std::vector<ScheduledPass> order = passes_of_stage(run_, chunks);
  std::vector<SyncedPass> synced;
  for (const ScheduledPass& pass : order) {
    synced.push_back({pass.kind, pass.chunk, pass.kind == PassKind::backward});
  }
  const std::vector<PassSync> plan = plan_data_sync(run_, synced);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ScheduledPass& pass = order[i];
    result.passes.push_back(
        {chunk_template(pass.kind, at(chunks, pass.chunk), plan[i]), pass.micro_batch, pass.chunk});
  }
  result.passes.push_back({add(step_end_pass(run_, chains_, chunks, tables_)), -1, 0});
  return result;
}

// Micro batch and model chunk of what crosses one boundary in one direction, in a stage's order;
// a message is named by the model chunk before the boundary.
using Messages = std::vector<std::pair<std::int32_t, std::int32_t>>;

Messages messages(const Program& program, const RankProgram& rank, const ParallelSpec& parallel,
                  PassKind kind, bool before_boundary) {
  const auto stages = static_cast<std::int32_t>(parallel.pp);
  const auto last = static_cast<std::int32_t>(parallel.pp * parallel.vpp - 1);
  Messages result;
  for (const Pass& pass : rank.passes) {
    if (at(program.templates, pass.pass_template).kind != kind) {
      continue;
    }
    const std::int32_t model_chunk = pass.chunk * stages + rank.stage;
    if (model_chunk != (before_boundary ? last : 0)) {
      result.emplace_back(pass.micro_batch, before_boundary ? model_chunk : model_chunk - 1);
    }
  }
  return result;
}

void check_boundaries(const RunSpec& run, const Program& program) {
  const std::int32_t stages = count(program.programs);
  for (std::int32_t stage = 0; stage < stages && stages > 1; ++stage) {
    const RankProgram& here = at(program.programs, stage);
    const RankProgram& next = at(program.programs, (stage + 1) % stages);
    for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
      SHARDSIM_CHECK(messages(program, here, run.parallel, kind, true) ==
                         messages(program, next, run.parallel, kind, false),
                     fmt::format("schedule {}: stages {} and {} exchange in different orders",
                                 run.training.schedule, stage, (stage + 1) % stages));
    }
  }
}

}  // namespace

Program build_program(const RunSpec& run, const RankGrid& grid) {
  check_run(run);
  Builder builder(run);
  std::vector<RankProgram> programs;
  for (const std::vector<Chunk>& chunks : make_chunks(run)) {
    programs.push_back(builder.stage(chunks));
  }
  Program program = builder.take();
  program.programs = std::move(programs);
  for (Rank rank = 0; rank < grid.ranks(); ++rank) {
    program.program_of_rank.push_back(grid.coordinate(rank, Axis::pp));
  }
  check_boundaries(run, program);
  return program;
}

}  // namespace shardsim
