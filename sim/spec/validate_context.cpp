// Rules over context parallelism: how the sequence and, under all-to-all, the heads divide.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/checks.h"

namespace shardsim {
namespace {

std::int64_t kv_heads_of_tp_rank(const RunSpec& run) {
  return std::max<std::int64_t>(1, run.model.kv_heads / run.parallel.tp);
}

// Zig-zag gives each rank two chunks of the sequence (megatron/training/arguments.py: a sequence
// must be a multiple of 2 x cp); the plain split gives it one. Under sp the tp ranks cut it
// further.
void check_sequence(Checking& c) {
  const ParallelSpec& p = c.run.parallel;
  const std::int64_t s = c.run.batch.sequence;
  if (!usable(c, {"parallel.tp", "parallel.sp", "parallel.cp", "parallel.cp_balanced",
                  "batch.sequence"})) {
    return;
  }
  const std::int64_t sp = p.sp ? p.tp : 1;
  const std::int64_t chunks = p.cp * (p.cp > 1 && p.cp_balanced ? 2 : 1);
  if (s % chunks != 0) {
    complain(c, "batch.sequence",
             p.cp_balanced ? fmt::format("{} is not a multiple of 2 x cp {} = {}", s, p.cp, chunks)
                           : fmt::format("{} is not a multiple of cp {}", s, p.cp),
             "use " + multiples_near(s, chunks, chunks));
  } else if (sp > 1 && s % (sp * p.cp) != 0) {
    complain(c, "batch.sequence",
             fmt::format("{} is not a multiple of tp {}{}, over which sp cuts it", s, p.tp,
                         p.cp > 1 ? fmt::format(" x cp {}", p.cp) : ""),
             "use " + multiples_near(s, sp * p.cp, sp * p.cp));
  }
  if (p.sp && p.tp == 1) {
    warn(c, "parallel.sp has no effect with tp 1");
  }
}

// What else could be done with this many ranks.
std::string other_ways(const RunSpec& run, const std::string& key) {
  std::vector<std::int64_t> valid;
  for (const std::int64_t ranks : divisors(kv_heads_of_tp_rank(run))) {
    if (shares_heads(run, ranks)) {
      valid.push_back(ranks);
    }
  }
  return fmt::format("use {} {}, or cp_comm \"p2p\" or \"all_gather\"", key,
                     list_near(valid, valid.back()));
}

// DeepSpeed-Ulysses (arXiv 2309.14509 section 3): each rank of an all-to-all takes whole heads.
void check_heads(Checking& c) {
  const RunSpec& run = c.run;
  const ParallelSpec& p = run.parallel;
  const bool whole = p.cp_comm == CpComm::a2a;
  if (p.cp == 1 || !(whole || p.cp_comm == CpComm::a2a_p2p) ||
      !usable(c, {"parallel.tp", "parallel.cp", "parallel.cp_a2a", "parallel.cp_comm",
                  "model.heads", "model.kv_heads"})) {
    return;
  }
  const std::string key = whole ? "parallel.cp" : "parallel.cp_a2a";
  const std::int64_t ranks = whole ? p.cp : p.cp_a2a;
  if (!whole && p.cp % ranks != 0) {
    complain(c, key, fmt::format("{} does not divide cp {}", ranks, p.cp),
             "use " + list_near(divisors(p.cp), ranks));
  } else if (!shares_heads(run, ranks)) {
    complain(c, key,
             fmt::format("all-to-all over {} cannot share out {} and {} of a TP rank evenly",
                         counted(ranks, "rank"),
                         counted(std::max<std::int64_t>(1, run.model.heads / p.tp), "query head"),
                         counted(kv_heads_of_tp_rank(run), "KV head")),
             other_ways(run, whole ? "cp" : "cp_a2a"));
  } else if (!whole && ranks == 1) {
    complain(c, "parallel.cp_comm",
             "\"a2a+p2p\" finds no CP ranks of one node that can exchange heads",
             "use \"p2p\", or state parallel.cp_a2a");
  }
}

// Blocks of a ring are merged by their softmax statistics, which unfused attention does not keep
// (Transformer Engine offers context parallelism for fused attention only).
void check_kernels(Checking& c) {
  const RunSpec& run = c.run;
  const bool ring = run.parallel.cp_comm == CpComm::p2p || run.parallel.cp_comm == CpComm::a2a_p2p;
  if (run.parallel.cp > 1 && ring && run.training.attention == AttentionKind::unfused &&
      usable(c, {"parallel.cp", "parallel.cp_comm", "training.attention"})) {
    complain(
        c, "training.attention",
        "\"unfused\" keeps no softmax statistics by which a ring of CP ranks merges its blocks",
        "use \"flash\", or cp_comm \"all_gather\" or \"a2a\"");
  }
}

void check_effect(Checking& c) {
  const ParallelSpec& p = c.run.parallel;
  for (const char* key : {"parallel.cp_comm", "parallel.cp_balanced", "parallel.cp_a2a"}) {
    const bool idle =
        p.cp == 1 || (std::string(key) == "parallel.cp_a2a" && p.cp_comm != CpComm::a2a_p2p);
    if (idle && stated(c, key) != nullptr && usable(c, {key, "parallel.cp", "parallel.cp_comm"})) {
      warn(c, p.cp == 1 ? fmt::format("{} has no effect with cp 1", key)
                        : fmt::format("{} has no effect without cp_comm \"a2a+p2p\"", key));
    }
  }
}

}  // namespace

std::int64_t axis_stride(const ParallelSpec& parallel, Axis axis) {
  std::int64_t stride = 1;
  for (const Axis faster : parallel.order) {
    if (faster == axis) {
      break;
    }
    switch (faster) {
      case Axis::tp:
        stride *= parallel.tp;
        break;
      case Axis::cp:
        stride *= parallel.cp;
        break;
      case Axis::dp:
        stride *= parallel.dp;
        break;
      case Axis::pp:
        stride *= parallel.pp;
        break;
      case Axis::ep:
      case Axis::etp:
      case Axis::edp:  // of the experts' grid
        break;
    }
  }
  return stride;
}

bool shares_heads(const RunSpec& run, std::int64_t ranks) {
  const std::int64_t heads = std::max<std::int64_t>(1, run.model.heads / run.parallel.tp);
  return heads % ranks == 0 && kv_heads_of_tp_rank(run) % ranks == 0;
}

void validate_context(Checking& c) {
  check_sequence(c);
  check_heads(c);
  check_kernels(c);
  check_effect(c);
}

}  // namespace shardsim
