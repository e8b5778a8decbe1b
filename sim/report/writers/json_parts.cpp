#include "report/writers/json_parts.h"

#include <cmath>

#include "base/errors.h"
#include "report/words.h"
#include "sharding/moe.h"

namespace shardsim {

namespace {

void append(std::string& out, const Json& value, int open_levels, const std::string& indent) {
  if (!value.is_structured() || value.empty() || open_levels <= 0) {
    out += value.dump();
    return;
  }
  const std::string inner = indent + "  ";
  const bool object = value.is_object();
  out += object ? "{" : "[";
  bool first = true;
  for (const auto& [key, element] : value.items()) {
    out += (first ? "\n" : ",\n") + inner;
    first = false;
    if (object) out += Json(key).dump() + ": ";
    append(out, element, object ? open_levels - 1 : 0, inner);
  }
  out += "\n" + indent + (object ? "}" : "]");
}

}  // namespace

std::string to_text(const Json& value, int open_levels) {
  std::string out;
  append(out, value, open_levels, "");
  return out + "\n";
}

Json finite(double value) {
  SHARDSIM_CHECK(std::isfinite(value), "a result is not a finite number");
  return value;
}

Json mean_count(double value) {
  const auto whole = static_cast<std::int64_t>(std::llround(finite(value).get<double>()));
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

Json or_null(std::int64_t index) { return index < 0 ? Json(nullptr) : Json(index); }
Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json breakdown_json(const Breakdown& breakdown) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kBinCount; ++i) {
    const Bin bin = static_cast<Bin>(i);
    out[std::string(name(bin)) + "_s"] = finite(breakdown[bin]);
  }
  return out;
}

Json layout_json(const RunSpec& run) {
  const ParallelSpec& parallel = run.parallel;
  Json out = Json::object();
  out["tp"] = parallel.tp;
  out["sp"] = parallel.sp;
  out["cp"] = parallel.cp;
  out["cp_comm"] = word(parallel.cp_comm);
  out["cp_balanced"] = parallel.cp_balanced;
  out["cp_a2a"] = parallel.cp_a2a;
  out["pp"] = parallel.pp;
  out["vpp"] = parallel.vpp;
  out["ep"] = parallel.ep;
  out["etp"] = parallel.etp;
  const ExpertLoads loads = expert_loads(run);
  out["dispatcher"] = or_null(run.model.moe ? word(run.moe.dispatcher) : "");
  out["busiest_expert_load"] = finite(loads.busiest);
  out["dropped_tokens_fraction"] = finite(loads.dropped);
  out["dp"] = parallel.dp;
  out["zero"] = parallel.zero;
  out["zero_group"] = parallel.zero_group;
  out["order"] = order_text(parallel);
  out["layers_per_stage"] = parallel.layers_per_stage;
  out["kv_strategy"] = word(parallel.kv_strategy);
  out["vocab_cut"] = word(parallel.vocab_cut);
  out["micro"] = run.batch.micro;
  out["global"] = run.batch.global;
  out["sequence"] = run.batch.sequence;
  out["micro_batches"] = run.batch.micro_batches;
  out["precision"] = std::string(name(run.training.precision));
  out["grad_dtype"] = std::string(name(run.training.grad_dtype));
  out["attention"] = word(run.training.attention);
  out["recompute"] = word(run.training.recompute);
  out["schedule"] = or_null(run.training.schedule);
  out["nodes"] = run.nodes;
  out["cluster"] = run.cluster.name;
  out["gpu"] = run.cluster.gpu.name;
  out["stack"] = run.stack.name;
  return out;
}

namespace {

Json perturbation_json(const Perturbation& perturbation) {
  switch (perturbation.kind) {
    case Perturbation::Kind::gpu:
      return {{"gpu", perturbation.index}, {"speed", finite(perturbation.factor)}};
    case Perturbation::Kind::node:
      return {{"node", perturbation.index}, {"speed", finite(perturbation.factor)}};
    case Perturbation::Kind::jitter:
      return {{"jitter", finite(perturbation.factor)}, {"seed", perturbation.seed}};
    case Perturbation::Kind::link:
    case Perturbation::Kind::rail:
    case Perturbation::Kind::spine:
      break;
  }
  Json out = Json::object();
  if (perturbation.kind == Perturbation::Kind::link) {
    out["link"] = perturbation.link;
  } else {
    out[perturbation.kind == Perturbation::Kind::rail ? "rail" : "spine"] = perturbation.index;
  }
  if (perturbation.dead) {
    out["dead"] = true;
  } else {
    out["bandwidth"] = finite(perturbation.factor);
  }
  return out;
}

}  // namespace

Json perturbations_json(const RunSpec& run) {
  Json out = Json::array();
  for (const Perturbation& one : run.perturbations) out.push_back(perturbation_json(one));
  return out;
}

Json model_json(const RunReport& report) {
  Json out = Json::object();
  out["name"] = report.run.model.name;
  out["parameters"] = report.analysis.parameters;
  out["active_parameters"] = report.analysis.active_parameters;
  out["flops_per_token"] = finite(report.analysis.rates.model_flops_per_token);
  return out;
}

Json memory_json(const MemoryUse& memory, bool with_stages) {
  Json out = Json::object();
  out["peak_bytes"] = memory.peak.value();
  out["capacity_bytes"] = memory.capacity.value();
  out["fits"] = memory.fits;
  if (!with_stages) return out;
  out["per_stage"] = Json::array();
  for (const StageMemory& stage : memory.stages) {
    Json row = Json::object();
    row["stage"] = stage.stage;
    row["weights_bytes"] = stage.weights.value();
    row["gradients_bytes"] = stage.gradients.value();
    row["optimizer_bytes"] = stage.optimizer.value();
    row["activations_bytes"] = stage.activations.value();
    row["other_bytes"] = stage.other.value();
    row["peak_bytes"] = stage.peak.value();
    out["per_stage"].push_back(std::move(row));
  }
  return out;
}

Json groups_json(const RunReport& report) {
  Json out = Json::array();
  for (const GroupUse& use : report.groups) {
    Json row = Json::object();
    row["group"] = use.group;
    row["ranks"] = use.ranks;
    row["ranks_per_node"] = use.ranks_per_node;
    row["nodes"] = use.nodes;
    row["count"] = mean_count(use.count);
    row["bytes"] = finite(use.bytes);
    row["time_s"] = finite(use.time_s);
    row["exposed_s"] = finite(use.exposed_s);
    row["algorithms"] = use.algorithms;
    row["bound"] = name(use.bound_kind);
    row["bound_link"] = or_null(use.bound_link);
    const bool bound = use.bound_kind != LinkKind::none;
    row["bound_bytes_per_s"] = bound ? finite(use.bound.value()) : Json(nullptr);
    row["quoted_bytes_per_s_per_direction"] =
        use.quoted.value() > 0 ? finite(use.quoted.value()) : Json(nullptr);
    out.push_back(std::move(row));
  }
  return out;
}

void add_rates(Json& out, const RunReport& report) {
  const Rates& rates = report.analysis.rates;
  out["step_time_s"] = finite(report.analysis.step_s);
  out["tokens_per_s"] = finite(rates.tokens_per_s);
  out["tokens_per_s_per_gpu"] = finite(rates.tokens_per_s_per_gpu);
  out["model_tflops_per_gpu"] = finite(rates.model_tflops_per_gpu);
  out["mfu"] = finite(rates.mfu);
  out["hfu"] = finite(rates.hfu);
  out["flops_convention"] = rates.flops_convention;
  out["peak_flop_per_s"] = finite(rates.peak.value());
  out["peak"] = rates.peak_name;
}

}  // namespace shardsim
