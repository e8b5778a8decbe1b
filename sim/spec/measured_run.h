// Published measurements of training runs: what was run, and what its source printed of it.
//
// A measured-run file is an array of records, one per run; its name without ".json" is what reports
// call the source. Times in seconds (of a layer: milliseconds), memory in GiB per GPU, rates per
// GPU; what a source does not state is absent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/errors.h"
#include "spec/run_spec.h"

namespace shardsim {

struct Measured {
  std::optional<double> step_time_s;
  // One layer and micro batch without embedding, head and optimizer: exposed TP included, backward
  // with its recomputation.
  std::optional<double> layer_forward_ms;
  std::optional<double> layer_backward_ms;
  std::optional<double> tflops_per_gpu;
  std::string flops_convention;           // "" = the source does not say
  std::optional<double> peak_gib;         // allocated by the framework on the worst GPU
  std::optional<double> states_gib;       // weights, gradients and optimizer, first stage
  std::optional<double> activations_gib;  // first stage
  // Activations as a percentage of those of the same layout without SP and recomputation.
  std::optional<double> activation_percent;
};

enum class Half { fit, check };  // whether a record may be fitted to, or only checked against

struct MeasuredRun {
  std::string id;
  RunSpec run;
  Measured measured;
  Half half = Half::check;
  std::vector<std::string> assumed;  // keys of the run that the source does not state
};

// A record whose config this program cannot run, and why.
struct RefusedRun {
  std::string id;
  std::vector<Problem> problems;
};

struct MeasuredFile {
  std::string source;  // the file's name without folder and ".json"
  std::vector<MeasuredRun> runs;
  std::vector<RefusedRun> refused;
};

}  // namespace shardsim
