#include "report/memory_report.h"

#include <algorithm>

#include "base/text.h"

namespace shardsim {

namespace {

Bytes static_bytes(const RankProgram& rank) {
  const StaticMemory& memory = rank.memory;
  return memory.weights + memory.gradients + memory.optimizer + memory.other;
}

// The kind of rank that holds most, the first of equals.
std::int32_t worst_program(const Program& program) {
  std::int32_t worst = 0;
  Bytes most{-1};
  for (std::int32_t i = 0; i < count(program.programs); ++i) {
    const RankProgram& rank = at(program.programs, i);
    const Bytes peak = static_bytes(rank) + activation_peak(program, rank).peak;
    if (peak > most) {
      most = peak;
      worst = i;
    }
  }
  return worst;
}

std::vector<MemoryLine> lines_of(const RunSpec& run, const Program& program,
                                 const RankProgram& rank, const ActivationPeak& peak) {
  std::vector<MemoryLine> lines{{"weights", rank.memory.weights},
                                {"gradients", rank.memory.gradients},
                                {"optimizer", rank.memory.optimizer}};
  for (const HeldTensor& held : held_at_peak(program, rank, peak)) {
    lines.push_back({at(program.labels, held.label), held.bytes});
  }
  lines.push_back({"other buffers", rank.memory.other - run.training.memory_reserve});
  lines.push_back({"reserve", run.training.memory_reserve});
  std::erase_if(lines, [](const MemoryLine& line) { return line.bytes == Bytes{0}; });
  return lines;
}

std::vector<MemoryMoment> timeline_of(const Program& program, const RankProgram& rank) {
  const std::vector<PassActivations> activations = activations_over_passes(program, rank);
  const Bytes held = static_bytes(rank);
  std::vector<MemoryMoment> moments;
  for (std::int32_t p = 0; p < count(rank.passes); ++p) {
    const Pass& pass = at(rank.passes, p);
    moments.push_back({at(program.templates, pass.pass_template).name, pass.micro_batch, pass.chunk,
                       held + at(activations, p).peak, held + at(activations, p).at_end});
  }
  return moments;
}

std::vector<std::string> not_modelled(const RunSpec& run) {
  return {
      "allocator fragmentation, the CUDA context, NCCL buffers and library workspaces: the "
      "reserve of " +
          format_gib(run.training.memory_reserve) + " (training.memory_reserve) stands for them",
      "tensors that live within one operator, and gradients of activations between operators",
      "statistics of norms, 8 bytes a token and norm"};
}

}  // namespace

MemoryReport make_memory_report(const RunSpec& run, const Program& program) {
  MemoryReport report;
  report.run = run;
  report.use = memory_use(program, run);
  const std::int32_t worst = worst_program(program);
  const RankProgram& rank = at(program.programs, worst);
  const ActivationPeak peak = activation_peak(program, rank);
  const auto first =
      std::find(program.program_of_rank.begin(), program.program_of_rank.end(), worst);
  report.worst_stage = rank.stage;
  report.worst_rank = static_cast<Rank>(first - program.program_of_rank.begin());
  report.worst_ranks =
      std::count(program.program_of_rank.begin(), program.program_of_rank.end(), worst);
  report.peak_pass = peak.pass;
  report.lines = lines_of(run, program, rank, peak);
  report.timeline = timeline_of(program, rank);
  report.not_modelled = not_modelled(run);
  return report;
}

}  // namespace shardsim
