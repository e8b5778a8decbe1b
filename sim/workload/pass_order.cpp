#include "workload/pass_order.h"

#include <algorithm>

#include "base/ids.h"
#include "workload/boundary.h"
#include "workload/recompute.h"
#include "workload/schedule.h"

namespace shardsim {
namespace {

ScheduleInput schedule_input(const RunSpec& run) {
  ScheduleInput input;
  input.stages = static_cast<std::int32_t>(run.parallel.pp);
  input.chunks = static_cast<std::int32_t>(run.parallel.vpp);
  input.micro_batches = static_cast<std::int32_t>(run.batch.micro_batches);
  return input;
}

// Seconds that steps would take at the GPU's peak rates.
double cost(const RunSpec& run, const std::vector<Step>& steps) {
  const GpuSpec& gpu = run.cluster.gpu;
  double sum = 0;
  for (const Step& step : steps) {
    const auto peak = gpu.peak.find(step.kernel.precision);
    const double math =
        peak == gpu.peak.end() ? 0 : flops(step.kernel).value() / peak->second.value();
    const double traffic =
        static_cast<double>(step.kernel.bytes.value()) / gpu.memory_bandwidth.value();
    sum += std::max(math, traffic);
  }
  return sum;
}

struct ChainCosts {
  double forward = 0;
  double backward = 0;
  double weight = 0;
  double kept = 0;   // bytes, from B to W
  double saved = 0;  // bytes, from F to B
};

ChainCosts costs_of_chain(const RunSpec& run, const Chain& chain) {
  ChainCosts sum;
  for (const Operator& op : chain) {
    sum.forward += cost(run, op.kernels.forward);
    sum.backward += cost(run, op.kernels.dgrad);
    (splits(op) ? sum.weight : sum.backward) += cost(run, op.kernels.wgrad);
    sum.kept += static_cast<double>(kept_for_weights(op).value());
    sum.saved += static_cast<double>(saved_bytes(op).value());
  }
  return sum;
}

PassCosts costs_of_chunk(const RunSpec& run, const ModelChains& chains, const Chunk& chunk) {
  PassCosts costs{.forward = 0, .backward = 0, .weight = 0};
  for (const LayerGroup& group : layer_groups(run.training, chunk.layers)) {
    for (std::int32_t layer = group.first; layer < group.first + group.count; ++layer) {
      const ChainCosts here = costs_of_chain(run, chain_of_layer(chains, chunk, layer));
      costs.forward += here.forward;
      costs.backward += here.backward + (group.checkpointed ? here.forward : 0);
      costs.weight += here.weight;
    }
  }
  const auto add = [&](const Chain& chain) {
    const ChainCosts ends = costs_of_chain(run, chain);
    costs.forward += ends.forward;
    costs.backward += ends.backward;
    costs.weight += ends.weight;
  };
  if (chunk.first) {
    add(chains.embedding);
  }
  if (chunk.last) {
    add(chains.head);
  }
  for (std::int32_t i = 0; i < chunk.mtp; ++i) {
    add(at(chains.mtp, i).embedding);
    add(at(chains.mtp, i).layer);
    add(at(chains.mtp, i).head);
  }
  return costs;
}

double message_cost(const RunSpec& run) {
  const NodeSpec& node = run.cluster.node;
  const bool inside = run.gpus <= node.gpus_used || node.nics == 0;
  const double rate =
      (inside ? node.nvlink.bandwidth_per_direction : node.nic.bandwidth_per_direction).value();
  return rate > 0 ? static_cast<double>(boundary_bytes(run).value()) / rate : 0;
}

// What W needs of an activation after B. More than one (recomputed layers keep little from F to B)
// counts as one: the limits of searched schedules are in activations of a pass.
double weight_share(const RunSpec& run, const ModelChains& chains) {
  const ChainCosts layer = costs_of_chain(run, chains.moe.empty() ? chains.dense : chains.moe);
  if (run.training.recompute == Recompute::full || layer.saved <= 0) {
    return 1;
  }
  return std::min(1.0, layer.kept / layer.saved);
}

std::vector<OrderedPass> join_passes(const std::vector<ScheduledPass>& scheduled,
                                     bool splits_backward, bool pairs) {
  std::vector<OrderedPass> result;
  for (std::size_t i = 0; i < scheduled.size(); ++i) {
    const ScheduledPass& pass = scheduled[i];
    OrderedPass ordered{.kind = pass.kind, .micro_batch = pass.micro_batch, .chunk = pass.chunk};
    ordered.with_next = pairs && pass.kind == PassKind::forward && pass.with_next;
    if (pass.kind == PassKind::weight) {
      ordered.part = BackwardPart::weights;
    } else if (pass.kind == PassKind::backward && splits_backward) {
      const bool joined =
          pass.with_next && i + 1 < scheduled.size() && scheduled[i + 1].kind == PassKind::weight &&
          scheduled[i + 1].micro_batch == pass.micro_batch && scheduled[i + 1].chunk == pass.chunk;
      ordered.part = joined ? BackwardPart::both : BackwardPart::inputs;
      i += joined ? 1 : 0;
    }
    result.push_back(ordered);
  }
  return result;
}

// Without stages there is nothing to schedule: each micro batch forward, then backward.
std::vector<OrderedPass> passes_without_stages(const RunSpec& run,
                                               const std::vector<Chunk>& chunks) {
  std::vector<OrderedPass> passes;
  for (std::int32_t micro = 0; micro < run.batch.micro_batches; ++micro) {
    for (const Chunk& chunk : chunks) {
      passes.push_back({.micro_batch = micro, .chunk = chunk.chunk});
    }
    for (std::size_t i = chunks.size(); i-- > 0;) {
      passes.push_back(
          {.kind = PassKind::backward, .micro_batch = micro, .chunk = chunks[i].chunk});
    }
  }
  return passes;
}

}  // namespace

std::vector<Problem> schedule_problems(const RunSpec& run) {
  if (run.parallel.pp == 1) {
    return {};
  }
  const std::string objection = find_schedule(run.training.schedule).objection(schedule_input(run));
  if (objection.empty()) {
    return {};
  }
  // "what; what would be right"
  const std::size_t cut = objection.rfind("; ");
  const bool says = cut != std::string::npos;
  return {{run.file, "/training/schedule", run.training.schedule + ": " + objection.substr(0, cut),
           says ? objection.substr(cut + 2) : "use 1f1b or another batch"}};
}

std::vector<std::vector<OrderedPass>> order_passes(const RunSpec& run, const ModelChains& chains,
                                                   const std::vector<std::vector<Chunk>>& chunks) {
  if (run.parallel.pp == 1) {
    return {passes_without_stages(run, chunks.front())};
  }
  const Schedule& schedule = find_schedule(run.training.schedule);
  ScheduleInput input = schedule_input(run);
  if (schedule.memory_factor > 0) {
    for (const std::vector<Chunk>& stage : chunks) {
      input.stage_costs.push_back(costs_of_chunk(run, chains, stage.front()));
      input.stage_costs.back().communication = message_cost(run);
    }
    input.weight_share = weight_share(run, chains);
  }
  std::vector<std::vector<OrderedPass>> result;
  for (const std::vector<ScheduledPass>& passes : passes_of_stages(schedule, input)) {
    result.push_back(join_passes(passes, schedule.splits_backward, pairs_passes(run)));
  }
  return result;
}

}  // namespace shardsim
