#include "commands/replay_size.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/memory_limit.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr double kBytesPerRankOperation = 24;
constexpr double kBytesPerProgramOperation = 100;
constexpr double kBytesPerPathOperation = 72;

struct ProgramSize {
  std::int64_t operations = 0;
  std::int64_t uncoalesced = 0;
};

ProgramSize size_of(const Folded& folded, const LoweredProgram& program) {
  ProgramSize size;
  for (const LoweredPass& pass : program.passes) {
    const LoweredTemplate& what = at(folded.templates, pass.pass_template);
    size.operations += count(what.ops);
    size.uncoalesced += what.uncoalesced_ops < 0 ? count(what.ops) : what.uncoalesced_ops;
  }
  return size;
}

struct ReplaySize {
  std::int64_t rank_operations = 0;  // of all rank classes
  std::int64_t program_operations = 0;
  std::int64_t path_operations = 0;
  [[nodiscard]] double bytes() const {
    return kBytesPerRankOperation * static_cast<double>(rank_operations) +
           kBytesPerProgramOperation * static_cast<double>(program_operations) +
           kBytesPerPathOperation * static_cast<double>(path_operations);
  }
};

ReplaySize size_of(const Folded& folded) {
  ReplaySize size;
  std::vector<ProgramSize> programs;
  for (const LoweredProgram& program : folded.programs) {
    programs.push_back(size_of(folded, program));
    size.program_operations += programs.back().operations;
    size.path_operations = std::max(size.path_operations, programs.back().uncoalesced);
  }
  for (const RankClass& rank : folded.ranks) {
    size.rank_operations += at(programs, rank.program).operations;
  }
  return size;
}

std::string ways_out(const RunSpec& run, const SimulateOptions& options, double share) {
  // Micro batches that the schedule wants together.
  const std::int64_t group = run.parallel.vpp > 1 ? run.parallel.pp : 1;
  const auto most = static_cast<std::int64_t>(static_cast<double>(run.batch.micro_batches) / share);
  std::vector<std::string> ways;
  if (options.fold == FoldMode::off) {
    ways.emplace_back("--fold auto");
  } else if (!run.perturbations.empty()) {
    ways.emplace_back("fewer perturbations");
  }
  if (options.coalesce == CoalesceMode::off) {
    ways.emplace_back("--coalesce auto");
  }
  if (most >= group) {
    ways.push_back(fmt::format("batch.global {} or less",
                               most / group * group * run.batch.micro * run.parallel.dp));
  }
  return ways.empty() ? "use fewer GPUs, stages or layers" : "use " + join_or(ways);
}

}  // namespace

double replay_bytes(const Folded& folded) { return size_of(folded).bytes(); }

void refuse_large_replay(const Folded& folded, const RunSpec& run, const SimulateOptions& options) {
  const ReplaySize size = size_of(folded);
  if (size.bytes() <= kMostMemory) {
    return;
  }
  throw ConfigError({{run.file, "",
                      fmt::format("{} of {} in all need about {:.0f} GiB of memory to simulate",
                                  counted(count(folded.ranks), "rank class"),
                                  counted(size.rank_operations, "operation"), size.bytes() / kGiB),
                      ways_out(run, options, size.bytes() / kMostMemory)}});
}

}  // namespace shardsim
