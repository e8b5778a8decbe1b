// What follows from stated keys: the grid's arithmetic and the defaults that depend on other keys.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/checks.h"
#include "spec/layout_string.h"
#include "spec/tables.h"

namespace shardsim {
namespace {

// GPT models in Megatron's examples have 2,048 learned positions.
constexpr std::int64_t kLearnedPositions = 2048;

void derive_gpus(Checking& c) {
  RunSpec& run = c.run;
  if (!usable(c, {"gpus", "nodes", "cluster.node.gpus", "cluster.node.gpus_used"})) {
    c.log.failed.emplace_back("gpus");
    return;
  }
  const std::int64_t per_node = run.cluster.node.gpus_used;
  if (run.gpus == 0 && run.nodes == 0) {
    give_up(c, "gpus", "is missing", "write the number of GPUs, or \"nodes\" instead");
    return;
  }
  if (run.gpus == 0) {
    if (run.nodes > kMaxGpus / per_node) {
      give_up(c, "nodes",
              fmt::format("{} nodes of {} are more than {} GPUs", run.nodes,
                          counted(per_node, "GPU"), kMaxGpus),
              fmt::format("use at most {}", counted(kMaxGpus / per_node, "node")));
      c.log.failed.emplace_back("gpus");
      return;
    }
    run.gpus = run.nodes * per_node;
    return;
  }
  const std::int64_t filled = (run.gpus + per_node - 1) / per_node;
  if (run.nodes != 0 && run.nodes != filled) {
    give_up(
        c, "nodes",
        fmt::format("{} {} {} of {}, not {}", counted(run.gpus, "GPU"),
                    run.gpus == 1 ? "fills" : "fill", counted(filled, "node"), per_node, run.nodes),
        fmt::format("use {}, or leave it out", filled));
  }
  run.nodes = filled;
}

void derive_dp(Checking& c) {
  RunSpec& run = c.run;
  ParallelSpec& p = run.parallel;
  if (!usable(c, {"gpus", "parallel.tp", "parallel.cp", "parallel.pp", "parallel.dp"})) {
    c.log.failed.emplace_back("parallel.dp");
    return;
  }
  // Each factor is at most 2^21: the product of the first two cannot overflow, nor this one.
  const std::int64_t tp_cp = std::min(p.tp * p.cp, kMaxGpus + 1);
  const std::int64_t replica = tp_cp * p.pp;
  const std::string factors = fmt::format("tp {} x cp {} x pp {}", p.tp, p.cp, p.pp);
  if (replica > run.gpus) {
    complain(c, "gpus",
             fmt::format("{} {} fewer than {}", counted(run.gpus, "GPU"), is_or_are(run.gpus),
                         tp_cp > kMaxGpus ? factors : fmt::format("{} = {}", factors, replica)),
             "use more GPUs, or smaller tp, cp or pp");
    c.log.failed.emplace_back("parallel.dp");
    return;
  }
  if (run.gpus % replica != 0) {
    complain(c, "gpus",
             fmt::format("{} {} not a multiple of {} = {}", counted(run.gpus, "GPU"),
                         is_or_are(run.gpus), factors, replica),
             "use " + multiples_near(run.gpus, replica, replica));
    c.log.failed.emplace_back("parallel.dp");
    return;
  }
  const std::int64_t dp = run.gpus / replica;
  if (stated(c, "parallel.dp") != nullptr && p.dp != dp) {
    complain(c, "parallel.dp",
             fmt::format("{} does not match {} / ({}) = {}", p.dp, counted(run.gpus, "GPU"),
                         factors, dp),
             fmt::format("use {}, or leave it out", dp));
  }
  p.dp = dp;
}

void derive_batch(Checking& c) {
  BatchSpec& batch = c.run.batch;
  const ParallelSpec& p = c.run.parallel;
  if (!usable(c, {"batch.micro", "batch.global", "batch.micro_batches", "parallel.dp",
                  "parallel.pp"})) {
    c.log.failed.emplace_back("batch.global");
    return;
  }
  const std::int64_t unit = batch.micro * p.dp;  // below 2^45 by the ranges
  const bool accumulates = stated(c, "batch.micro_batches") != nullptr;
  if (stated(c, "batch.global") == nullptr) {
    const std::int64_t times = accumulates ? batch.micro_batches : p.pp;
    if (unit > kMaxBatch / times) {
      give_up(c, "batch.global",
              fmt::format("micro {} x dp {} x {} {} sequences are out of range", batch.micro, p.dp,
                          accumulates ? "micro_batches" : "pp", times),
              fmt::format("state a global batch of at most {}", kMaxBatch));
      return;
    }
    batch.global = unit * times;
  }
  if (batch.global % unit != 0) {
    give_up(c, "batch.global",
            fmt::format("{} {} not a multiple of micro {} x dp {} = {}",
                        counted(batch.global, "sequence"), is_or_are(batch.global), batch.micro,
                        p.dp, unit),
            "use " + multiples_near(batch.global, unit, unit) +
                (batch.global < p.dp ? "; dp cannot cut a sequence, cp can" : ""));
    return;
  }
  if (accumulates && batch.micro_batches != batch.global / unit) {
    complain(c, "batch.micro_batches",
             fmt::format("global {} is not micro {} x dp {} x micro_batches {} = {}", batch.global,
                         batch.micro, p.dp, batch.micro_batches, unit * batch.micro_batches),
             fmt::format("use micro_batches {}, or global {}", batch.global / unit,
                         unit * batch.micro_batches));
  }
  batch.micro_batches = batch.global / unit;
}

// A layout string says how many chunks there are.
void derive_chunks(Checking& c) {
  ParallelSpec& p = c.run.parallel;
  if (!usable(c, {"parallel.pp", "parallel.vpp", "parallel.layout"}) || p.layout.empty() ||
      stated(c, "parallel.vpp") != nullptr) {
    return;
  }
  const auto chunks = static_cast<std::int64_t>(parse_layout(p.layout).chunks.size());
  if (chunks > 0 && chunks % p.pp == 0) {
    p.vpp = chunks / p.pp;
  }
}

void derive_zero_group(Checking& c) {
  ParallelSpec& p = c.run.parallel;
  if (!usable(c, {"parallel.dp", "parallel.cp", "parallel.zero_group"})) {
    return;
  }
  const std::int64_t all = p.dp * p.cp;
  if (stated(c, "parallel.zero_group") == nullptr) {
    p.zero_group = all;
  } else if (all % p.zero_group != 0) {
    complain(c, "parallel.zero_group",
             fmt::format("{} does not divide dp {} x cp {} = {}", p.zero_group, p.dp, p.cp, all),
             "use " + list_near(divisors(all), p.zero_group));
  } else if (p.zero == 0 && p.zero_group != all && usable(c, {"parallel.zero"})) {
    warn(c, "parallel.zero_group has no effect with zero 0");
  }
}

// Experts are replicated edp times: their state can be cut where dp x cp is 1.
void warn_of_idle_zero(Checking& c) {
  const ParallelSpec& p = c.run.parallel;
  if (!usable(c, {"parallel.zero", "parallel.tp", "parallel.cp", "parallel.dp", "parallel.ep",
                  "parallel.etp", "model.moe"}) ||
      p.zero == 0 || p.dp * p.cp > 1 || !stated_in_run(c, "parallel.zero")) {
    return;
  }
  if (!c.run.model.moe || p.tp == p.etp * p.ep) {
    warn(c, fmt::format("parallel.zero {} has no effect with dp 1 and cp 1: no rank has a copy to "
                        "share the state with",
                        p.zero));
  }
}

// Sharded gradients and weights are ZeRO 2's and 3's; a stack may state what it does there.
void warn_sharding(Checking& c) {
  if (!usable(c, {"parallel.zero"})) {
    return;
  }
  const std::int64_t zero = c.run.parallel.zero;
  if (zero < 2 && c.run.training.grad_sync == GradSync::micro_batch &&
      stated_in_run(c, "training.grad_sync")) {
    warn(c, "training.grad_sync \"micro_batch\" has no effect with zero below 2");
  }
  if (zero < 3 && stated_in_run(c, "training.reshard_after_forward")) {
    warn(c, "training.reshard_after_forward has no effect with zero below 3");
  }
}

// The widest run of neighbouring CP ranks that fits a node and shares out the heads evenly.
void derive_context(Checking& c) {
  ParallelSpec& p = c.run.parallel;
  if (stated(c, "parallel.cp_a2a") != nullptr || p.cp_comm != CpComm::a2a_p2p ||
      !usable(c, {"parallel.cp", "parallel.tp", "parallel.dp", "parallel.pp", "parallel.order",
                  "model.heads", "model.kv_heads"})) {
    return;
  }
  const std::int64_t span = c.run.cluster.node.gpus_used / axis_stride(p, Axis::cp);
  for (const std::int64_t ranks : divisors(p.cp)) {
    if (ranks <= span && shares_heads(c.run, ranks)) {
      p.cp_a2a = ranks;
    }
  }
}

void derive_training(Checking& c) {
  TrainingSpec& t = c.run.training;
  if (t.schedule.empty()) {
    t.schedule = c.run.parallel.vpp > 1 ? "interleaved" : "1f1b";
  }
  if (stated(c, "training.param_dtype") == nullptr) {
    const bool own = t.precision == Precision::fp16 || t.precision == Precision::fp32;
    t.param_dtype = own ? t.precision : Precision::bf16;
  }
  ModelSpec& model = c.run.model;
  if (model.position == Position::learned && model.max_positions == 0) {
    model.max_positions = std::max(kLearnedPositions, c.run.batch.sequence);
  }
}

}  // namespace

void derive(Checking& c) {
  derive_gpus(c);
  derive_dp(c);
  derive_batch(c);
  derive_zero_group(c);
  derive_chunks(c);
  derive_context(c);
  derive_training(c);
  warn_of_idle_zero(c);
  warn_sharding(c);
}

}  // namespace shardsim
