// Tokens per second and FLOP rates. Model FLOPs by a convention of sharding/parameters.h; HFU adds
// the forward work that is done again (Korthikanti et al., arXiv 2205.05198 section 6.3: model
// FLOPs against hardware FLOPs).
#include "analysis/rates.h"

#include <algorithm>

#include "base/errors.h"
#include "sharding/parameters.h"
#include "workload/stages.h"

namespace shardsim {
namespace {

// Part of the layers whose whole forward runs again.
double recomputed_share(const RunSpec& run) {
  if (run.training.recompute_method == RecomputeMethod::uniform) {
    return 1.0;
  }
  std::int64_t layers = 0;  // block: the first recompute_layers of each chunk
  for (const std::vector<std::int64_t>& stage : layers_of_chunks(run)) {
    for (const std::int64_t chunk : stage) {
      layers += std::min(chunk, run.training.recompute_layers);
    }
  }
  return static_cast<double>(layers) / static_cast<double>(run.model.layers);
}

double mlp_forward(const ModelSpec& model) {
  return 2.0 * (model.gated_mlp ? 3.0 : 2.0) * static_cast<double>(model.hidden) *
         static_cast<double>(model.ffn);
}

// What is done again, as the convention counts it: a third of a forward and backward.
double recomputed_flops_per_token(const RunSpec& run, const FlopsConvention& convention) {
  const ModelSpec& model = run.model;
  if (convention.name == "megatron-sc21") {  // counts it among the model's
    return 0;
  }
  const auto flops = [&](const ModelSpec& of, std::int64_t sequence) {
    return convention.flops_per_token(of, sequence);
  };
  switch (run.training.recompute) {
    case Recompute::none:
      return 0;
    case Recompute::full: {
      ModelSpec ends = model;  // embedding and head, which are not done again
      ends.layers = 0;
      const double layers = flops(model, run.batch.sequence) - flops(ends, run.batch.sequence);
      return layers / 3 * recomputed_share(run);
    }
    case Recompute::selective: {
      double all = 0;  // modules other than these two have no matrix products
      for (const RecomputeModule module : run.training.recompute_modules) {
        if (module == RecomputeModule::core_attn) {  // what grows with the sequence
          all += (flops(model, run.batch.sequence) - flops(model, 0)) / 3;
        } else if (module == RecomputeModule::mlp) {
          all += mlp_forward(model) * static_cast<double>(model.layers);
        }
      }
      return all;
    }
  }
  SHARDSIM_CHECK(false, "unknown recomputation");
}

// The dense bf16 peak; the fp16 one of an fp16 run, and of a GPU without bf16 the run's own.
Precision peak_precision(const RunSpec& run) {
  const auto& peaks = run.cluster.gpu.peak;
  if (run.training.precision == Precision::fp16 && peaks.contains(Precision::fp16)) {
    return Precision::fp16;
  }
  return peaks.contains(Precision::bf16) ? Precision::bf16 : run.training.precision;
}

}  // namespace

Rates rates(const RunSpec& run, double step_s) {
  return rates(run, step_s, default_flops_convention());
}

Rates rates(const RunSpec& run, double step_s, const FlopsConvention& convention) {
  SHARDSIM_CHECK(step_s > 0, "rates of a step that takes no time");
  const Precision precision = peak_precision(run);
  const auto peak = run.cluster.gpu.peak.find(precision);
  SHARDSIM_CHECK(peak != run.cluster.gpu.peak.end(),
                 "the GPU states no peak of the precision that it computes in");
  const auto gpus = static_cast<double>(run.gpus);

  Rates result;
  result.tokens_per_s =
      static_cast<double>(run.batch.global) * static_cast<double>(run.batch.sequence) / step_s;
  result.tokens_per_s_per_gpu = result.tokens_per_s / gpus;
  result.flops_convention = convention.name;
  result.model_flops_per_token = convention.flops_per_token(run.model, run.batch.sequence);
  const double model_flops_per_gpu = result.tokens_per_s_per_gpu * result.model_flops_per_token;
  result.model_tflops_per_gpu = model_flops_per_gpu / 1e12;
  result.peak = peak->second;
  result.peak_name = std::string(name(precision)) + " dense";
  result.mfu = model_flops_per_gpu / result.peak.value();
  const double recomputed = recomputed_flops_per_token(run, convention);
  result.hfu = result.mfu * (1 + recomputed / result.model_flops_per_token);
  return result;
}

}  // namespace shardsim
