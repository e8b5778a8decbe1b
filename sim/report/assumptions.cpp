#include "report/assumptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "sharding/moe.h"
#include "workload/operator_steps.h"
#include "workload/schedule.h"

namespace shardsim {

namespace {

// Whether "words: " follows: a clause that says what it speaks of.
bool begins_with_subject(const std::string& text, std::size_t at) {
  const std::size_t end = text.find_first_of(":;,(.", at);
  return end != std::string::npos && text.compare(end, 2, ": ") == 0 &&
         std::isalpha(static_cast<unsigned char>(text[at])) != 0;
}

// Whether a sentence can begin there: a capital, or a clause with a subject.
bool may_begin(const std::string& text, std::size_t at) {
  return at < text.size() &&
         (std::isupper(static_cast<unsigned char>(text[at])) != 0 || begins_with_subject(text, at));
}

// A statement ends, outside parentheses, at a full stop before another sentence or the end of the
// text, or at a semicolon before a clause with a subject of its own. "0.80-0.90" and "et al. 2022"
// hold no end.
std::vector<std::string> statements(const std::string& source) {
  std::vector<std::string> found;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    depth += source[i] == '(' ? 1 : 0;
    depth -= source[i] == ')' && depth > 0 ? 1 : 0;
    const bool last = i + 1 == source.size();
    const bool stop =
        source[i] == '.' && (last || (source[i + 1] == ' ' && may_begin(source, i + 2)));
    const bool clause = source.compare(i, 2, "; ") == 0 && begins_with_subject(source, i + 2);
    if (depth == 0 && (stop || clause)) {
      found.push_back(source.substr(begin, i - begin));
      begin = std::min(source.find_first_not_of(' ', i + 1), source.size());
    }
  }
  if (begin < source.size()) found.push_back(source.substr(begin));
  return found;
}

// The statements of a source that say something is assumed.
void add_assumed(const std::string& of, const std::string& source, std::vector<std::string>& list) {
  for (const std::string& statement : statements(source)) {
    if (statement.find("assumed") != std::string::npos) list.push_back(of + ": " + statement);
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
  if (schedule.bidirectional && !pairs_passes(run)) {
    list.push_back(
        "schedule " + schedule.name +
        ": a forward and a backward that share a slot follow each other; neither computes "
        "under the communication of the other (training.overlap.ep)");
  }
}

// Fewer KV heads than tensor-parallel ranks: who holds them (DESIGN: kv_strategy).
void add_kv_heads(const RunSpec& run, std::vector<std::string>& list) {
  const std::int64_t heads = run.model.kv_heads;
  const std::int64_t tp = run.parallel.tp;
  if (run.model.mla || heads >= tp) return;
  const std::int64_t sharers = tp / heads;
  switch (run.parallel.kv_strategy) {
    case KvStrategy::shared:
      list.push_back(fmt::format(
          "{} KV heads on tp {}: each is held by {} ranks of a TP group (kv_strategy shared), so K "
          "and V weights are cut to 1/{}, not 1/{}, and those ranks sum their gradients",
          heads, tp, sharers, heads, tp));
      return;
    case KvStrategy::replicate:
      list.push_back(fmt::format(
          "{} KV heads on tp {}: every rank of a TP group holds them all (kv_strategy replicate), "
          "so K and V weights are not cut",
          heads, tp));
      return;
    case KvStrategy::gather:
      list.push_back(fmt::format(
          "{} KV heads on tp {}: weights are cut to 1/{}, the output of QKV is gathered "
          "(kv_strategy gather) and each head used by {} ranks",
          heads, tp, tp, sharers));
      return;
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

// Which tokens experts get, and which they do not.
void add_experts(const RunSpec& run, std::vector<std::string>& list) {
  if (!run.model.moe) return;
  const ExpertLoads loads = expert_loads(run);
  if (loads.busiest > 1) {
    list.push_back(fmt::format(
        "the busiest expert rank gets {:.2f} times the mean; all-to-alls last as long as its",
        loads.busiest));
  } else if (run.parallel.ep > 1) {
    list.push_back("tokens spread evenly over the ranks of the experts (moe.imbalance 1)");
  }
  if (loads.dropped > 0) {
    list.push_back(fmt::format(
        "{:.1f} % of the tokens' copies find no room at capacity_factor {:g} and are dropped",
        100 * loads.dropped, *run.model.moe->capacity_factor));
  }
  if (run.moe.dispatcher == Dispatcher::deepep) {
    list.push_back(
        "deepep: a token visits as many nodes and ranks as equally likely experts lie on");
  }
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
  add_kv_heads(run, list);
  add_sources(run, list);
  add_schedule_limits(run, list);
  add_low_precision(run, list);
  add_experts(run, list);
  add_model_limits(run, list);
  for (const std::string& taken : run.defaults_taken) {
    list.push_back(taken.rfind("set by ", 0) == 0 ? taken : "default: " + taken);
  }
  return list;
}

}  // namespace shardsim
