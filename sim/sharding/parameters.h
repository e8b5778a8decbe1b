// How many parameters a model has, and how many floating-point operations a token costs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "spec/run_spec.h"

namespace shardsim {

struct ParameterCount {
  std::int64_t total = 0;   // no vocabulary padding, no MTP layers; tied embeddings once
  std::int64_t active = 0;  // of them, used by one token
  std::int64_t matmul = 0;  // active weights of matrix products: incl. output head, excl. input
                            // embedding, norms and biases
};
[[nodiscard]] ParameterCount count_parameters(const ModelSpec& model);

// Model FLOPs of one token, forward and backward, by a named convention (DESIGN: nvidia-causal,
// nvidia-full, palm, 6nd, megatron-sc21).
struct FlopsConvention {
  std::string name;
  std::string help;  // the formula in words
  double (*flops_per_token)(const ModelSpec& model, std::int64_t sequence);
};
[[nodiscard]] const std::vector<FlopsConvention>& flops_conventions();
[[nodiscard]] const FlopsConvention& default_flops_convention();  // nvidia-causal

}  // namespace shardsim
