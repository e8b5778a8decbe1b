#include "workload/build_program.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "workload/chunk_pass.h"
#include "workload/optimizer_step.h"
#include "workload/pair_pass.h"
#include "workload/pass_order.h"
#include "workload/software_memory.h"
#include "workload/static_memory.h"

namespace shardsim {
namespace {

// Programs of the ranks of one variant.
class Builder {
 public:
  Builder(const RunSpec& run, const RankVariant& variant, ProgramTables& tables)
      : run_(run), chains_(make_chains(run, variant)), tables_(tables) {}

  [[nodiscard]] const ModelChains& chains() const { return chains_; }
  RankProgram stage(const std::vector<Chunk>& chunks, const std::vector<OrderedPass>& order);

 private:
  std::int32_t chunk_template(const Chunk& chunk, const ChunkPass& what);
  std::int32_t pair_template(std::int32_t forward, std::int32_t backward);
  std::int32_t add(PassTemplate made);

  const RunSpec& run_;
  ModelChains chains_;
  ProgramTables& tables_;
  std::map<std::string, std::int32_t> template_of_name_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> pairs_;
};

std::int32_t Builder::add(PassTemplate made) {
  tables_.program.templates.push_back(std::move(made));
  return count(tables_.program.templates) - 1;
}

std::int32_t Builder::chunk_template(const Chunk& chunk, const ChunkPass& what) {
  const std::string key = pass_name(chunk, what);
  const auto found = template_of_name_.find(key);
  if (found != template_of_name_.end()) {
    return found->second;
  }
  const std::int32_t index = add(chunk_pass(run_, chains_, chunk, what, tables_));
  template_of_name_.emplace(key, index);
  return index;
}

std::int32_t Builder::pair_template(std::int32_t forward, std::int32_t backward) {
  const auto known = pairs_.find({forward, backward});
  if (known != pairs_.end()) {
    return known->second;
  }
  const std::vector<PassTemplate>& made = tables_.program.templates;
  const std::int32_t index = add(pair_pass(at(made, forward), at(made, backward)));
  pairs_.emplace(std::pair{forward, backward}, index);
  return index;
}

RankProgram Builder::stage(const std::vector<Chunk>& chunks,
                           const std::vector<OrderedPass>& order) {
  RankProgram result;
  result.stage = chunks.front().stage;
  const LocalParameters parameters = stage_parameters(chains_, chunks);
  result.parameters = parameters.total();
  result.memory = static_memory(run_, parameters);
  result.memory.other += gradient_placeholders(run_, chunks) + low_precision_weights(run_, chunks);
  std::vector<SyncedPass> synced;
  for (const OrderedPass& pass : order) {
    const bool weights_done = pass.kind != PassKind::forward && pass.part != BackwardPart::inputs;
    synced.push_back({pass.kind, pass.chunk, weights_done});
  }
  const std::vector<PassSync> plan = plan_data_sync(run_, synced);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const OrderedPass& pass = order[i];
    const ChunkPass what{.kind = pass.kind, .part = pass.part, .sync = plan[i]};
    const Pass made{chunk_template(at(chunks, pass.chunk), what), pass.micro_batch, pass.chunk};
    if (i > 0 && order[i - 1].with_next) {
      Pass& forward = result.passes.back();
      forward.pass_template = pair_template(forward.pass_template, made.pass_template);
      forward.backward_micro_batch = made.micro_batch;
      forward.backward_chunk = made.chunk;
    } else {
      result.passes.push_back(made);
    }
  }
  result.passes.push_back({add(step_end_pass(run_, chains_, chunks, tables_)), -1, 0});
  return result;
}

// Micro batch and part of the model of what crosses one boundary in one direction, in a stage's
// order; a message is named by the part before the boundary.
using Messages = std::vector<std::pair<std::int32_t, std::int32_t>>;

Messages messages(const Program& program, const RankProgram& rank,
                  const std::vector<std::vector<Chunk>>& chunks, PassKind kind, bool mirrored,
                  bool before_boundary) {
  const std::int32_t stages = count(chunks);
  Messages result;
  for (const Pass& pass : rank.passes) {
    const PassKind own = at(program.templates, pass.pass_template).kind;
    if (own != kind && own != PassKind::pair) {
      continue;
    }
    const bool of_pair = own == PassKind::pair && kind == PassKind::backward;
    const std::int32_t held = of_pair ? pass.backward_chunk : pass.chunk;
    const Chunk& chunk = at(at(chunks, rank.stage), held);
    if (chunk.mirrored != mirrored || (before_boundary ? chunk.last : chunk.first)) {
      continue;
    }
    const std::int32_t part = mirrored ? stages - 1 - rank.stage : held * stages + rank.stage;
    result.emplace_back(of_pair ? pass.backward_micro_batch : pass.micro_batch,
                        before_boundary ? part : part - 1);
  }
  return result;
}

// Variants of a stage exchange alike: the first stands for all.
void check_boundaries(const RunSpec& run, const std::vector<std::vector<Chunk>>& chunks,
                      const Program& program) {
  const auto stages = static_cast<std::int32_t>(run.parallel.pp);
  const std::int32_t variants = count(program.programs) / stages;
  for (std::int32_t stage = 0; stage < stages && stages > 1; ++stage) {
    for (const bool mirrored : {false, true}) {
      const RankProgram& here = at(program.programs, stage * variants);
      const std::int32_t next = (stage + (mirrored ? stages - 1 : 1)) % stages;
      for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
        SHARDSIM_CHECK(messages(program, here, chunks, kind, mirrored, true) ==
                           messages(program, at(program.programs, next * variants), chunks, kind,
                                    mirrored, false),
                       fmt::format("schedule {}: stages {} and {} exchange in different orders",
                                   run.training.schedule, stage, next));
      }
    }
  }
}

}  // namespace

Program build_program(const RunSpec& run, const RankGrid& grid) {
  SHARDSIM_CHECK(schedule_problems(run).empty(), "the schedule cannot run this shape");
  ProgramTables tables;
  std::vector<Builder> builders;
  const RankVariants kinds = rank_variants(run, grid);
  for (const RankVariant& variant : kinds.variants) {
    builders.emplace_back(run, variant, tables);
  }
  const std::vector<std::vector<Chunk>> chunks = make_chunks(run);
  const std::vector<std::vector<OrderedPass>> order =
      order_passes(run, builders.back().chains(), chunks);
  std::vector<RankProgram> programs;  // stage by stage
  for (std::size_t stage = 0; stage < chunks.size(); ++stage) {
    for (Builder& builder : builders) {
      programs.push_back(builder.stage(chunks[stage], order[stage]));
    }
  }
  Program program = std::move(tables.program);
  program.programs = std::move(programs);
  for (Rank rank = 0; rank < grid.ranks(); ++rank) {
    program.program_of_rank.push_back(grid.coordinate(rank, Axis::pp) * count(builders) +
                                      at(kinds.of_rank, rank));
  }
  check_boundaries(run, chunks, program);
  return program;
}

}  // namespace shardsim
