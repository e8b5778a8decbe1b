#include "sharding/moe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

// Tokens of each place in the ep group over the mean, before capacity.
std::vector<double> stated_loads(const RunSpec& run, double& kept) {
  const MoeSpec& moe = *run.model.moe;
  const double room = moe.capacity_factor.value_or(static_cast<double>(moe.experts));
  std::vector<double> of_expert(static_cast<std::size_t>(moe.experts), 1.0);
  const std::int64_t per_place = moe.experts / run.parallel.ep;
  if (!run.moe.tokens_per_expert.empty()) {
    const std::vector<std::int64_t>& tokens = run.moe.tokens_per_expert;
    const double mean =
        static_cast<double>(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0})) /
        static_cast<double>(moe.experts);
    std::transform(tokens.begin(), tokens.end(), of_expert.begin(),
                   [&](std::int64_t count) { return static_cast<double>(count) / mean; });
  } else if (run.moe.imbalance > 1 && run.parallel.ep > 1) {
    const auto places = static_cast<double>(run.parallel.ep);
    std::fill(of_expert.begin(), of_expert.end(), (places - run.moe.imbalance) / (places - 1));
    std::fill_n(of_expert.begin(), per_place, run.moe.imbalance);
  }
  kept = 0;
  std::vector<double> of_place(static_cast<std::size_t>(run.parallel.ep), 0.0);
  for (std::int64_t expert = 0; expert < moe.experts; ++expert) {
    const double tokens = std::min(at(of_expert, expert), room);
    at(of_place, expert / per_place) += tokens / static_cast<double>(per_place);
    kept += tokens / static_cast<double>(moe.experts);
  }
  return of_place;
}

// The tensors of one run, full.
struct Shapes {
  const RunSpec& run;
  const MoeSpec& moe = *run.model.moe;
  SizedDim b{Dim::batch, run.batch.micro* run.parallel.dp};
  SizedDim s{Dim::sequence, run.batch.sequence};
  SizedDim h{Dim::hidden, run.model.hidden};
  SizedDim experts{Dim::expert, moe.experts};
  SizedDim gate{Dim::gate, run.model.gated_mlp ? 2 : 1};
  SizedDim ffn{Dim::ffn, moe.expert_ffn};
  SizedDim shared{Dim::ffn, moe.shared_ffn};
  SizedDim tokens{Dim::token, b.size* s.size* moe.top_k};

  [[nodiscard]] Tensor weight(std::string name, OperatorKind op, std::vector<SizedDim> dims) const {
    return {std::move(name), op, Port::weight, std::move(dims),
            element_bytes(run.training.param_dtype)};
  }
  [[nodiscard]] SavedTensor saved(std::string name, OperatorKind op, Port port,
                                  std::vector<SizedDim> dims, std::int64_t element,
                                  std::int32_t place) const {
    return {{std::move(name), op, port, std::move(dims), element}, SavedAs::other, place};
  }
};

std::vector<SavedTensor> shared_saved(const Shapes& z, OperatorKind kind, std::int32_t place) {
  using enum OperatorKind;
  const Precision precision = z.run.training.precision;
  const std::int64_t element = element_bytes(tensor_precision(precision));
  const std::vector<SizedDim> bsh{z.b, z.s, z.h};
  if (kind == shared_up) {  // the router's input is the same, but for the format
    if (!is_low(precision)) {
      return {z.saved("router and shared up input", norm, Port::output, bsh, element, place)};
    }
    return {z.saved("router input", norm, Port::output, bsh, element, place),
            z.saved("shared up input", norm, Port::output, bsh, factor_bytes(precision), place)};
  }
  if (kind == shared_activation) {
    return {z.saved("shared activation input", kind, Port::input, {z.b, z.s, z.gate, z.shared},
                    element, place)};
  }
  return {z.saved("shared down input", shared_activation, Port::output, {z.b, z.s, z.shared},
                  factor_bytes(precision), place)};
}

}  // namespace

double most_load(const MoeSpec& moe, std::int64_t ep) {
  const std::int64_t held = moe.experts / ep;
  return static_cast<double>(ep) * static_cast<double>(std::min(moe.top_k, held)) /
         static_cast<double>(moe.top_k);
}

ExpertLoads expert_loads(const RunSpec& run) {
  ExpertLoads loads;
  if (!run.model.moe) {
    return loads;
  }
  double kept = 1;
  const std::vector<double> of_place = stated_loads(run, kept);
  loads.kinds.clear();
  loads.kind_of_place.clear();
  for (const double load : of_place) {
    const auto known = std::find(loads.kinds.begin(), loads.kinds.end(), load);
    loads.kind_of_place.push_back(static_cast<std::int32_t>(known - loads.kinds.begin()));
    if (known == loads.kinds.end()) {
      loads.kinds.push_back(load);
    }
  }
  loads.busiest = *std::max_element(loads.kinds.begin(), loads.kinds.end());
  loads.dropped = std::max(0.0, 1.0 - kept);
  return loads;
}

// Sums of shares may miss a whole number by rounding.
std::int64_t scaled(std::int64_t tokens, double load) {
  const double exact = static_cast<double>(tokens) * load;
  const double nearest = std::round(exact);
  return static_cast<std::int64_t>(std::abs(exact - nearest) < 1e-6 ? nearest : std::ceil(exact));
}

std::int64_t routed_tokens(const RunSpec& run) {
  const std::int64_t slices = run.parallel.cp * (run.parallel.sp ? run.parallel.tp : 1);
  return checked_mul(checked_mul(run.batch.micro, run.batch.sequence / slices),
                     run.model.moe->top_k);
}

std::int64_t expert_tokens(const RunSpec& run, double load) {
  const bool repeated = run.parallel.tp > 1 && !run.parallel.sp;
  return checked_mul(scaled(routed_tokens(run), load), repeated ? 1 : run.parallel.etp);
}

std::int64_t local_experts(const RunSpec& run) { return run.model.moe->experts / run.parallel.ep; }

std::vector<Tensor> moe_weights(const RunSpec& run, OperatorKind kind) {
  using enum OperatorKind;
  if (!run.model.moe) {
    return {};
  }
  const Shapes z{run};
  switch (kind) {
    case router:
      return {z.weight("router weight", kind, {z.h, z.experts})};
    case expert_up:
      return {z.weight("expert up weight", kind, {z.experts, z.h, z.gate, z.ffn})};
    case expert_down:
      return {z.weight("expert down weight", kind, {z.experts, z.ffn, z.h})};
    case shared_up:
      return {z.weight("shared up weight", kind, {z.h, z.gate, z.shared})};
    case shared_down:
      return {z.weight("shared down weight", kind, {z.shared, z.h})};
    default:
      return {};
  }
}

// Megatron keeps the dispatched tokens, both sides of the activation, and what the router needs;
// the routing weights are applied inside the experts (megatron/core/transformer/moe/experts.py), so
// that their outputs need not be kept. Scores are kept in fp32, a copy's origin in 4 bytes.
std::vector<SavedTensor> moe_saved(const RunSpec& run, OperatorKind kind, std::int32_t place) {
  using enum OperatorKind;
  if (!run.model.moe) {
    return {};
  }
  const Shapes z{run};
  const std::int64_t element = element_bytes(tensor_precision(run.training.precision));
  const std::int64_t factor = factor_bytes(run.training.precision);
  switch (kind) {
    case shared_up:
    case shared_activation:
    case shared_down:
      return shared_saved(z, kind, place);
    case router: {
      std::vector<SavedTensor> result{
          z.saved("router scores", kind, Port::input, {z.b, z.s, z.experts}, 4, place)};
      if (z.moe.shared_ffn == 0) {
        result.push_back(
            z.saved("router input", norm, Port::output, {z.b, z.s, z.h}, element, place));
      }
      return result;
    }
    case permute:
      return {z.saved("routing", kind, Port::input, {z.tokens}, 4, place)};
    case expert_up:
      return {z.saved("expert input", kind, Port::input, {z.tokens, z.h},
                      std::min(factor, element_bytes(z.moe.dispatch_dtype)), place)};
    case expert_activation:
      return {z.saved("expert activation input", kind, Port::input, {z.tokens, z.gate, z.ffn},
                      element, place)};
    case expert_down:
      return {z.saved("expert down input", expert_activation, Port::output, {z.tokens, z.ffn},
                      factor, place)};
    default:
      return {};
  }
}

}  // namespace shardsim
