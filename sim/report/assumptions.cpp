#include "report/assumptions.h"

#include "base/text.h"
#include "workload/schedule.h"

namespace shardsim {

namespace {

// The clauses of a source that say something is assumed; a clause ends at ';' or at '. '.
void add_assumed(const std::string& of, const std::string& source, std::vector<std::string>& list) {
  std::size_t begin = 0;
  while (begin < source.size()) {
    std::size_t end = begin;
    while (end < source.size() && source[end] != ';' && source.compare(end, 2, ". ") != 0) ++end;
    const std::string clause = source.substr(begin, end - begin);
    if (clause.find("assumed") != std::string::npos) {
      const std::size_t first = clause.find_first_not_of(' ');
      list.push_back(of + ": " + clause.substr(first));
    }
    begin = end + 1;
  }
}

void add_sources(const RunSpec& run, std::vector<std::string>& list) {
  const GpuSpec& gpu = run.cluster.gpu;
  const GpuEfficiency& efficiency = gpu.efficiency;
  add_assumed("cluster " + run.cluster.name, run.cluster.source, list);
  add_assumed("stack " + run.stack.name, run.stack.source, list);
  add_assumed("GPU " + gpu.name, gpu.source, list);
  add_assumed("GEMM efficiency of " + gpu.name, efficiency.gemm.source, list);
  const auto attention = efficiency.attention.find(run.stack.flash_version);
  if (run.training.attention == AttentionKind::flash && attention != efficiency.attention.end()) {
    add_assumed("attention efficiency of " + gpu.name, attention->second.source, list);
  }
  add_assumed("memory efficiency of " + gpu.name, efficiency.memory.source, list);
}

void add_schedule_limits(const RunSpec& run, std::vector<std::string>& list) {
  if (run.parallel.pp == 1) {
    return;
  }
  const Schedule& schedule = find_schedule(run.training.schedule);
  if (schedule.splits_backward) {
    list.push_back("schedule " + schedule.name +
                   ": all stages wait for the gradient norm, so each step pays the staggered start "
                   "of the stages; updates validated afterwards (arXiv 2401.10241 section 4) would "
                   "not");
  }
  if (schedule.memory_factor > 0) {
    list.push_back(
        "schedule " + schedule.name +
        ": searched with costs of passes at peak rates, not with the kernels' own times");
  }
  if (schedule.bidirectional) {
    list.push_back(
        "schedule " + schedule.name +
        ": a forward and a backward that share a slot follow each other; neither computes "
        "under the communication of the other");
  }
}

// What a low precision means here, and what its speed rests on.
void add_low_precision(const RunSpec& run, std::vector<std::string>& list) {
  if (!is_low(run.training.precision)) return;
  const std::string format{name(run.training.precision)};
  list.push_back(format +
                 ": linear layers of transformer blocks only; attention core, router, embedding, "
                 "head, norms and messages in bf16 (assumed, the default of Transformer Engine and "
                 "Megatron)");
  list.push_back(format +
                 ": products sustain the same fraction of their own peak as bf16 ones (assumed: no "
                 "shape measured), casts of 4 bytes an element; MFU is of the bf16 peak");
}

void add_model_limits(const RunSpec& run, std::vector<std::string>& list) {
  if (run.training.overlap_slowdown == 0.0) {
    list.push_back("kernels are not slowed by communication beside them (overlap_slowdown 0)");
  }
  if (run.cluster.fabric.spreading == Spreading::ideal) {
    list.push_back("traffic spreads evenly over parallel links of the fabric");
  }
  list.push_back(
      "memory counts tensors and a reserve of " + format_gib(run.training.memory_reserve) +
      "; allocator fragmentation, NCCL buffers and library workspaces are in the reserve");
  list.push_back("one step in the steady state: no data loading, checkpointing or evaluation");
}

}  // namespace

std::vector<std::string> assumptions_of(const RunSpec& run) {
  std::vector<std::string> list;
  add_sources(run, list);
  add_schedule_limits(run, list);
  add_low_precision(run, list);
  add_model_limits(run, list);
  for (const std::string& key : run.defaults_taken) list.push_back("default: " + key);
  return list;
}

}  // namespace shardsim
