// Random training jobs on random small clusters, and one way to run them.
#pragma once

#include <rapidcheck.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fold/fold.h"
#include "lowering/lowering.h"
#include "random_machine.h"
#include "replay/replay.h"
#include "support/jobs.h"
#include "workload/build_program.h"
#include "workload/schedule.h"

namespace shardsim::test {

struct Simulated {
  Folded folded;
  Trace trace;
};

inline Simulated simulate_program(const Program& program, const RunSpec& run,
                                  FoldMode mode = FoldMode::off,
                                  const LoweringOptions& options = {}) {
  const RankGrid grid(run.parallel);
  const Fabric fabric = make_fabric(run);
  const Lowered lowered = lower_program(program, run, grid, fabric, make_node_map(run), options);
  check_lowered(lowered);
  Simulated result{.folded = fold(lowered, mode), .trace = {}};
  check_folded(result.folded);
  result.trace = replay_in_child(result.folded, &fabric);
  return result;
}

inline Simulated simulate_run(const RunSpec& run, FoldMode mode = FoldMode::off,
                              const LoweringOptions& options = {}) {
  return simulate_program(build_program(run, RankGrid(run.parallel)), run, mode, options);
}

inline std::array<Axis, kOrderAxes> random_order() {
  std::array<Axis, kOrderAxes> order{Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[*rc::gen::inRange<std::size_t>(0, i + 1)]);
  }
  return order;
}

// Any schedule of the table that takes the job.
inline void choose_schedule(RunSpec& run) {
  std::vector<std::string> possible;
  for (const Schedule& schedule : schedules()) {
    ScheduleInput input;
    input.stages = static_cast<std::int32_t>(run.parallel.pp);
    input.chunks = static_cast<std::int32_t>(run.parallel.vpp);
    input.micro_batches = static_cast<std::int32_t>(run.batch.micro_batches);
    const bool enough = run.model.layers >= model_parts(schedule, input);
    if (run.parallel.pp == 1 || (enough && schedule.objection(input).empty())) {
      possible.push_back(schedule.name);
    }
  }
  run.training.schedule = pick(possible);
}

inline void vary_training(RunSpec& run) {
  TrainingSpec& training = run.training;
  choose_schedule(run);
  training.precision = pick(std::vector{Precision::bf16, Precision::fp8});
  training.attention = pick(std::vector{AttentionKind::flash, AttentionKind::unfused});
  training.recompute = pick(std::vector{Recompute::none, Recompute::selective, Recompute::full});
  training.recompute_layers = pick(std::vector<std::int64_t>{1, 2});
  training.overlap.grad_reduce = coin();
  training.overlap.param_gather = coin();
  training.overlap.pp = coin();
  training.overlap_slowdown = pick(std::vector{0.0, 0.3});
  training.p2p_scatter_gather = run.parallel.tp > 1 && !run.parallel.sp && coin();
  if (coin()) {
    training.grad_bucket = Bytes{std::int64_t{1} << *rc::gen::inRange(20, 28)};
  }
}

inline void vary_stack(RunSpec& run) {
  run.stack.p2p = pick(std::vector{P2pStyle::blocking, P2pStyle::overlapped});
  run.stack.tp_wgrad_overlap = coin();
  // From never waiting for the host to waiting for nothing else.
  run.stack.host_time_per_kernel = Seconds{pick(std::vector{0.0, 2e-6, 7e-6, 30e-6, 200e-6})};
}

// How ZeRO shares and when it moves: over all ranks or a part, kept or gathered again.
inline void choose_sharding(RunSpec& run) {
  const std::int64_t all = run.parallel.dp * run.parallel.cp;
  run.parallel.zero_group = pick(std::vector{all, all % 2 == 0 ? all / 2 : 1});
  run.training.reshard_after_forward = coin();
  run.training.grad_sync = pick(std::vector<std::optional<GradSync>>{std::nullopt, GradSync::step});
}

// Ways to exchange keys and values, where heads and kernels allow them.
inline void vary_context(RunSpec& run) {
  ParallelSpec& p = run.parallel;
  p.cp_comm = pick(std::vector{CpComm::p2p, CpComm::all_gather, CpComm::a2a, CpComm::a2a_p2p});
  p.cp_balanced = coin();
  if (p.tp * p.cp > run.model.kv_heads && p.cp_comm == CpComm::a2a) {
    p.cp_comm = CpComm::p2p;
  }
  p.cp_a2a = p.cp > 1 && p.tp <= run.model.kv_heads / 2 ? 2 : 1;
  if (p.cp > 1 && (p.cp_comm == CpComm::p2p || p.cp_comm == CpComm::a2a_p2p)) {
    run.training.attention = AttentionKind::flash;
  }
  run.training.overlap.cp = coin();
}

// Grids of experts that the job's ranks and order allow. Without sp tokens are repeated over tp,
// and experts must be cut as they are.
inline std::vector<std::pair<std::int64_t, std::int64_t>> expert_grids(ParallelSpec parallel) {
  std::vector<std::pair<std::int64_t, std::int64_t>> grids;
  const std::int64_t ranks = parallel.tp * parallel.cp * parallel.dp;
  const bool repeated = parallel.tp > 1 && !parallel.sp;
  for (const std::int64_t etp : {std::int64_t{1}, parallel.tp}) {
    for (const std::int64_t ep : {1, 2, 4, 8}) {
      parallel.etp = etp;
      parallel.ep = ep;
      const bool cut_alike = etp == parallel.tp && ep == 1;
      if (ranks % (etp * ep) == 0 && (!repeated || cut_alike) && grids_agree(parallel)) {
        grids.emplace_back(etp, ep);
      }
    }
  }
  return grids;
}

// Experts for a job's layers: hot ranks, leading dense layers, shared experts, capacity included.
inline void add_experts(RunSpec& run) {
  MoeSpec& moe = run.model.moe.emplace();
  moe.experts = 8;
  moe.top_k = pick(std::vector<std::int64_t>{1, 2});
  moe.expert_ffn = 512;
  moe.shared_ffn = pick(std::vector<std::int64_t>{0, 512});
  moe.first_dense = pick(std::vector<std::int64_t>{0, 1});
  moe.every = pick(std::vector<std::int64_t>{1, 2});
  moe.dispatch_dtype = pick(std::vector{Precision::bf16, Precision::fp8});
  std::tie(moe.groups, moe.group_top_k) =
      pick(std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {4, 2}});
  run.model.bias = Bias::none;
  std::tie(run.parallel.etp, run.parallel.ep) = pick(expert_grids(run.parallel));
  if (run.parallel.etp == 1) {
    run.moe.dispatcher = pick(std::vector{Dispatcher::alltoall, Dispatcher::deepep});
  }
  run.training.overlap.ep = coin();
  if (coin()) {
    moe.capacity_factor = 1.25;
  }
  if (coin()) {
    run.moe.tokens_per_expert = {9, 7, 5, 3, 8, 6, 4, 2};
  } else if (run.parallel.ep > 1) {
    run.moe.imbalance = pick(std::vector{1.0, 1.5, 2.0});
  }
}

// Sizes of the axes, cut down to `most_gpus`.
inline jobs::Layout random_layout(std::int64_t most_gpus) {
  jobs::Layout layout;
  layout.tp = pick(std::vector{1, 2, 4, 8});
  layout.pp = pick(std::vector{1, 2, 3, 4});
  layout.cp = pick(std::vector{1, 1, 2, 4});
  layout.dp = pick(std::vector{1, 2, 3, 4});
  while (layout.tp * layout.pp * layout.cp * layout.dp > most_gpus) {
    std::int64_t& most = layout.tp > layout.dp ? layout.tp : layout.dp;
    (layout.cp > most ? layout.cp : most) /= 2;
  }
  layout.sp = layout.tp > 1 && coin();
  layout.vpp = layout.pp > 1 ? pick(std::vector{1, 1, 2}) : 1;
  layout.zero = pick(std::vector{0, 1, 2, 3});
  layout.micro_batches = layout.pp * pick(std::vector{1, 2, 3});
  layout.sequence = pick(std::vector{512, 4096});
  return layout;
}

// A dense or MoE transformer job with everything that overlaps and contends.
inline RunSpec random_run(std::int64_t most_gpus = 64) {
  const jobs::Layout layout = random_layout(most_gpus);
  const std::int64_t layers = layout.pp * layout.vpp * pick(std::vector{1, 2, 3});
  const ModelSpec model =
      coin() ? jobs::gpt(layers, 1024, 8) : jobs::llama(layers, 1024, 3072, 8, 4, 32000);
  RunSpec run = jobs::job(model, layout);
  run.model.embedding_norm = coin();
  run.model.mtp_layers = layout.zero < 3 ? pick(std::vector{0, 0, 1, 2}) : 0;
  run.cluster = random_cluster();
  vary_fabric(run);
  vary_algorithms(run);
  run.parallel.order = random_order();
  if (coin()) {
    add_experts(run);
  }
  vary_training(run);
  vary_stack(run);
  choose_sharding(run);
  vary_context(run);
  return run;
}

}  // namespace shardsim::test
