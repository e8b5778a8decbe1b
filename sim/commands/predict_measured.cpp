#include "commands/predict_measured.h"

#include <cstring>
#include <optional>

#include "analysis/layer_time.h"
#include "analysis/rates.h"
#include "base/errors.h"
#include "replay/replay.h"

namespace shardsim {

namespace {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

// What a worker finds out about one record; plain bytes, so that it can travel through a pipe.
struct Prediction {
  double step_s = 0;
  double layer_s = 0;             // forward and backward; 0 when not asked for
  double tflops_per_gpu = 0;      // in the record's convention; 0 when it states none
  double allocated_bytes = 0;     // worst GPU, without what the framework and the driver hold back
  double states_bytes = 0;        // first stage
  double activations_bytes = 0;   // first stage
  double baseline_activations_bytes = 0;  // without SP and recomputation; 0 when not asked for
};

bool wants_layer(const Measured& measured) {
  return measured.layer_forward_ms.has_value() && measured.layer_backward_ms.has_value();
}

double first_stage_activations(const RunSpec& run) {
  const MemoryUse memory = memory_use(program_of(run), run);
  return static_cast<double>(memory.stages.front().activations.value());
}

Prediction prediction_of(const MeasuredTask& task, SimulateOptions options) {
  const Measured& measured = task.record.measured;
  const RunSpec& run = task.record.run;
  if (wants_layer(measured)) options.coalesce = CoalesceMode::off;
  const Prepared prepared = prepare(run, options);
  const Trace trace = replay_in_child(prepared.folded, &prepared.fabric);
  const MemoryUse memory = memory_use(prepared.program, run);
  const StageMemory& first = memory.stages.front();
  Prediction result{
      .step_s = trace.step_s,
      .allocated_bytes =
          static_cast<double>((memory.peak - run.training.memory_reserve).value()),
      .states_bytes =
          static_cast<double>((first.weights + first.gradients + first.optimizer).value()),
      .activations_bytes = static_cast<double>(first.activations.value())};
  if (wants_layer(measured)) {
    const LayerTime layer = layer_time(trace);
    result.layer_s = layer.forward_s + layer.backward_s;
  }
  if (const FlopsConvention* convention = find_flops_convention(measured.flops_convention)) {
    result.tflops_per_gpu = rates(run, trace.step_s, *convention).model_tflops_per_gpu;
  }
  if (measured.activation_percent) {
    RunSpec baseline = run;
    baseline.parallel.sp = false;
    baseline.training.recompute = Recompute::none;
    result.baseline_activations_bytes = first_stage_activations(baseline);
  }
  return result;
}

std::string packed(const Prediction& prediction) {
  std::string bytes(sizeof prediction, '\0');
  std::memcpy(bytes.data(), &prediction, sizeof prediction);
  return bytes;
}

Prediction unpacked(const std::string& bytes) {
  Prediction prediction;
  SHARDSIM_CHECK(bytes.size() == sizeof prediction, "a prediction of another size");
  std::memcpy(&prediction, bytes.data(), sizeof prediction);
  return prediction;
}

// The time that is compared, or nothing when the record has none.
std::optional<TimeRecord> time_record(const MeasuredTask& task, const Prediction& prediction) {
  const Measured& measured = task.record.measured;
  TimeRecord record{.id = task.record.id,
                    .source = task.source,
                    .half = task.record.half,
                    .assumed = task.record.assumed,
                    .categories = run_categories(task.record.run),
                    .job = job_of(task.record.run),
                    .layout = layout_of_job(task.record.run),
                    .timed = "step"};
  if (measured.step_time_s) {
    record.predicted_s = prediction.step_s;
    record.measured_s = *measured.step_time_s;
  } else if (wants_layer(measured)) {
    record.timed = "layer";
    record.predicted_s = prediction.layer_s;
    record.measured_s = (*measured.layer_forward_ms + *measured.layer_backward_ms) / 1000;
  } else if (measured.tflops_per_gpu && prediction.tflops_per_gpu > 0) {
    record.timed = "TFLOP/s";
    record.predicted_s = prediction.step_s;
    record.measured_s = prediction.step_s * prediction.tflops_per_gpu / *measured.tflops_per_gpu;
  } else {
    return std::nullopt;
  }
  return record;
}

void add_memory(const MeasuredTask& task, const Prediction& prediction, std::vector<MemoryRecord>& out) {
  const Measured& measured = task.record.measured;
  const auto add = [&](const char* figure, double predicted, const std::optional<double>& value,
                       double unit) {
    if (!value) return;
    out.push_back({.id = task.record.id,
                   .source = task.source,
                   .half = task.record.half,
                   .assumed = task.record.assumed,
                   .figure = figure,
                   .predicted = predicted,
                   .measured = *value * unit});
  };
  add("peak", prediction.allocated_bytes, measured.peak_gib, kGibibyte);
  add("states", prediction.states_bytes, measured.states_gib, kGibibyte);
  add("activations", prediction.activations_bytes, measured.activations_gib, kGibibyte);
  if (prediction.baseline_activations_bytes > 0) {
    add("activation share", prediction.activations_bytes / prediction.baseline_activations_bytes,
        measured.activation_percent, 0.01);
  }
}

}  // namespace

const FlopsConvention* find_flops_convention(const std::string& name) {
  for (const FlopsConvention& one : flops_conventions()) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

std::string predict(const MeasuredTask& task, const SimulateOptions& options) {
  return packed(prediction_of(task, options));
}

bool add_records(const MeasuredTask& task, const std::string& prediction,
                 std::vector<TimeRecord>& times, std::vector<MemoryRecord>& memory) {
  const Prediction predicted = unpacked(prediction);
  const std::size_t before = memory.size();
  add_memory(task, predicted, memory);
  std::optional<TimeRecord> time = time_record(task, predicted);
  if (time) times.push_back(*std::move(time));
  return time.has_value() || memory.size() > before;
}

}  // namespace shardsim
