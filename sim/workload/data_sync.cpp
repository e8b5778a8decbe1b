#include "workload/data_sync.h"

#include <map>

#include "base/errors.h"
#include "sharding/derive.h"

namespace shardsim {
namespace {

// Ranks that share one copy of sharded state.
std::int64_t shards_of(const RunSpec& run, bool expert) {
  return expert ? data_ranks(run, true) : run.parallel.zero_group;
}

bool shards_state(const RunSpec& run, bool expert) {
  return run.parallel.zero >= 1 && shards_of(run, expert) > 1;
}

// Whether any weights are held by several ranks.
bool any_copies(const RunSpec& run) {
  return data_ranks(run) > 1 || (run.model.moe && data_ranks(run, true) > 1);
}

bool shards_any_state(const RunSpec& run) {
  return shards_state(run, false) || (run.model.moe && shards_state(run, true));
}

std::int32_t shard_ranks(const RunSpec& run) {
  return static_cast<std::int32_t>(run.parallel.zero_group);
}

// The ranks that share one copy: all, or runs of neighbours.
std::int32_t neighbours(const RunSpec& run) {
  return run.parallel.zero_group < data_ranks(run) ? shard_ranks(run) : 0;
}

// The last pass of each chunk for which `holds`.
template <class Holds>
std::map<std::int32_t, std::size_t> last_of_chunks(const std::vector<SyncedPass>& passes,
                                                   Holds&& holds) {
  std::map<std::int32_t, std::size_t> last;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (holds(passes[i])) {
      last[passes[i].chunk] = i;
    }
  }
  return last;
}

bool uses_weights(const SyncedPass& pass) { return pass.kind != PassKind::weight; }

// ZeRO 1 and 2: all parameters beside the first forward of their chunk.
void plan_bucket_gathers(const std::vector<SyncedPass>& passes, std::vector<PassSync>& plan) {
  std::map<std::int32_t, bool> seen;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (passes[i].kind == PassKind::forward && !seen[passes[i].chunk]) {
      plan[i].gathers = true;
      seen[passes[i].chunk] = true;
    }
  }
}

// ZeRO 3. Weights that are kept for backward are dropped after it, with gradients that wait for the
// end of the step only then (torch/distributed/pipelining/stage.py: no reshard before the last
// backward).
void plan_unit_gathers(const RunSpec& run, const std::vector<SyncedPass>& passes,
                       std::vector<PassSync>& plan) {
  const bool drops = run.training.reshard_after_forward;
  const bool over_the_step = !drops && !reduces_each_micro_batch(run);
  const auto last = last_of_chunks(passes, uses_weights);
  std::map<std::int32_t, bool> whole;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (!uses_weights(passes[i])) {
      continue;
    }
    bool& gathered = whole[passes[i].chunk];
    const bool keeps = passes[i].kind == PassKind::forward ? !drops : over_the_step;
    plan[i].gathers = !gathered;
    plan[i].releases = !keeps || last.at(passes[i].chunk) == i;
    gathered = !plan[i].releases;
  }
}

}  // namespace

AxisSet data_group(const RunSpec& run, bool expert) {
  AxisSet group = 0;
  const std::vector<Axis> axes = expert ? std::vector{Axis::edp} : std::vector{Axis::cp, Axis::dp};
  for (const Axis axis : axes) {
    if (axis_size(run.parallel, axis) > 1) {
      group = static_cast<AxisSet>(group | axis_set(axis));
    }
  }
  return group;
}

std::int64_t data_ranks(const RunSpec& run, bool expert) {
  return expert ? axis_size(run.parallel, Axis::edp) : run.parallel.dp * run.parallel.cp;
}

std::int64_t held_of(const RunSpec& run, LocalParameters parameters, bool sharded) {
  const std::int64_t dense = sharded ? shards_of(run, false) : 1;
  const std::int64_t expert = sharded ? shards_of(run, true) : 1;
  return (parameters.dense + dense - 1) / dense + (parameters.expert + expert - 1) / expert;
}

bool shards_weights(const RunSpec& run) { return run.parallel.zero >= 3 && shards_any_state(run); }

bool reduces_each_micro_batch(const RunSpec& run) {
  return run.parallel.zero >= 2 && any_copies(run) &&
         run.training.grad_sync.value_or(GradSync::micro_batch) == GradSync::micro_batch;
}

bool gathers_parameters(const RunSpec& run) {
  return shards_any_state(run) && run.parallel.zero <= 2;
}

bool gathers_beside_forward(const RunSpec& run) {
  return gathers_parameters(run) && run.training.overlap.param_gather;
}

bool reduces_beside_backward(const RunSpec& run) {
  return any_copies(run) && (run.training.overlap.grad_reduce || reduces_each_micro_batch(run));
}

std::int64_t gradient_shards(const RunSpec& run) {
  return reduces_each_micro_batch(run) ? run.parallel.zero_group : 1;
}

Precision gathered_dtype(const RunSpec& run) {
  const bool mixed = shards_weights(run) && run.training.param_dtype == Precision::fp32 &&
                     run.training.precision != Precision::fp32;
  if (!mixed) {
    return run.training.param_dtype;
  }
  return run.training.precision == Precision::fp16 ? Precision::fp16 : Precision::bf16;
}

std::vector<Communication> gradient_reduce(const RunSpec& run, LocalParameters parameters) {
  std::vector<Communication> sums;
  for (const bool expert : {false, true}) {
    const std::int64_t part = expert ? parameters.expert : parameters.dense;
    if (part == 0 || data_ranks(run, expert) == 1) {
      continue;
    }
    const bool sharded = shards_state(run, expert);
    const Communication sum{
        .primitive = sharded ? Primitive::reduce_scatter : Primitive::all_reduce,
        .group = data_group(run, expert),
        .bytes = Bytes{checked_mul(part, element_bytes(run.training.grad_dtype))},
        .dtype = run.training.grad_dtype,
        .trigger = expert ? "expert gradients" : "gradients",
        .neighbours = sharded && !expert ? neighbours(run) : 0};
    sums.push_back(sum);
    if (sum.neighbours > 0) {
      Communication copies = sum;
      copies.primitive = Primitive::all_reduce;
      copies.bytes =
          Bytes{(sum.bytes.value() + run.parallel.zero_group - 1) / run.parallel.zero_group};
      copies.trigger = "gradients of copies";
      copies.neighbours = 0;
      copies.strided = shard_ranks(run);
      sums.push_back(copies);
    }
  }
  return sums;
}

std::vector<Communication> parameter_gather(const RunSpec& run, LocalParameters parameters) {
  std::vector<Communication> gathers;
  const Precision dtype = gathered_dtype(run);
  for (const bool expert : {false, true}) {
    const std::int64_t part = expert ? parameters.expert : parameters.dense;
    if (part == 0 || !shards_state(run, expert)) {
      continue;
    }
    gathers.push_back({.primitive = Primitive::all_gather,
                       .group = data_group(run, expert),
                       .bytes = Bytes{checked_mul(part, element_bytes(dtype))},
                       .dtype = dtype,
                       .trigger = expert ? "expert parameters" : "parameters",
                       .neighbours = expert ? 0 : neighbours(run)});
  }
  return gathers;
}

Bytes whole_gradients(const RunSpec& run, LocalParameters parameters) {
  std::int64_t reduced = 0;
  for (const bool expert : {false, true}) {
    reduced += data_ranks(run, expert) > 1 ? (expert ? parameters.expert : parameters.dense) : 0;
  }
  return Bytes{checked_mul(reduced, element_bytes(run.training.grad_dtype))};
}

Bytes gathered_weights(const RunSpec& run, LocalParameters parameters) {
  Bytes bytes{};
  for (const Communication& gather : parameter_gather(run, parameters)) {
    bytes += gather.bytes;
  }
  return bytes;
}

std::vector<PassSync> plan_data_sync(const RunSpec& run, const std::vector<SyncedPass>& passes) {
  std::vector<PassSync> plan(passes.size());
  if (gathers_beside_forward(run)) {
    plan_bucket_gathers(passes, plan);
  } else if (shards_weights(run)) {
    plan_unit_gathers(run, passes, plan);
  }
  if (!reduces_beside_backward(run)) {
    return plan;
  }
  const auto last =
      last_of_chunks(passes, [](const SyncedPass& pass) { return pass.weights_done; });
  for (std::size_t i = 0; i < passes.size(); ++i) {
    plan[i].reduces =
        passes[i].weights_done && (reduces_each_micro_batch(run) || last.at(passes[i].chunk) == i);
  }
  return plan;
}

}  // namespace shardsim
