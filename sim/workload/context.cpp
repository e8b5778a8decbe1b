#include "workload/context.h"

namespace shardsim {

ContextSplit context_split(const RunSpec& run) {
  const ParallelSpec& p = run.parallel;
  switch (p.cp_comm) {
    case CpComm::a2a:
      return {p.cp, 1};
    case CpComm::a2a_p2p:
      return {p.cp_a2a, p.cp / p.cp_a2a};
    case CpComm::p2p:
    case CpComm::all_gather:
      break;
  }
  return {1, p.cp};
}

std::int32_t attention_kinds(const RunSpec& run) {
  const bool skips_masked = run.training.attention == AttentionKind::flash;
  return run.parallel.cp_balanced || !skips_masked
             ? 1
             : static_cast<std::int32_t>(context_split(run).ring);
}

std::int32_t attention_kind(const RunSpec& run, std::int32_t cp_coordinate) {
  return attention_kinds(run) == 1
             ? 0
             : cp_coordinate / static_cast<std::int32_t>(context_split(run).all_to_all);
}

std::vector<std::vector<AttentionBlock>> ring_blocks(const RunSpec& run, std::int32_t kind) {
  const std::int64_t ring = context_split(run).ring;
  const std::int64_t n = run.batch.sequence / ring;
  std::vector<std::vector<AttentionBlock>> steps;
  steps.push_back({{n, n, true}});
  for (std::int32_t step = 1; step < ring; ++step) {
    if (run.parallel.cp_balanced) {
      steps.push_back({{n, n / 2}});  // or n / 2 x n: as many FLOPs, as short a side
    } else if (step <= kind) {
      steps.push_back({{n, n}});
    } else {
      steps.emplace_back();
    }
  }
  return steps;
}

std::vector<AttentionBlock> gathered_blocks(const RunSpec& run, std::int32_t kind) {
  const std::int64_t ring = context_split(run).ring;
  const std::int64_t n = run.batch.sequence / ring;
  if (ring > 1 && run.parallel.cp_balanced) {
    // Chunks i and 2 ring - 1 - i see i + 1/2 and 2 ring - 1 - i + 1/2 chunks: ring each on
    // average.
    return {{n / 2, n * ring / 2}, {n / 2, n * ring / 2}};
  }
  std::vector<AttentionBlock> blocks{{n, n, true}};
  if (kind > 0) {
    blocks.push_back({n, n * kind});
  }
  return blocks;
}

}  // namespace shardsim
