// The key tables of all formats, bound to the structs they fill.
#pragma once

#include <vector>

#include "spec/cluster_spec.h"
#include "spec/key_reader.h"
#include "spec/measured_run.h"
#include "spec/model_spec.h"
#include "spec/run_rule.h"
#include "spec/run_spec.h"

namespace shardsim {

// Sizes above these are taken for typing errors; validate.cpp bounds their products, so that exact
// 64-bit arithmetic downstream cannot overflow. All assumed: ten times the largest known or more.
inline constexpr std::int64_t kMaxLayers = 10'000;
inline constexpr std::int64_t kMaxHidden = 1'000'000;
inline constexpr std::int64_t kMaxFfn = 10'000'000;
inline constexpr std::int64_t kMaxHeads = 100'000;
inline constexpr std::int64_t kMaxVocab = 100'000'000;
inline constexpr std::int64_t kMaxSequence = 100'000'000;
inline constexpr std::int64_t kMaxBatch = 10'000'000;
inline constexpr std::int64_t kMaxGpus = std::int64_t{1} << 21;  // 2,097,152
inline constexpr std::int64_t kMaxNodeGpus = 4096;

// A stack's file: the preset itself and the defaults that it gives for the run's training keys.
struct StackFile {
  StackSpec stack;
  TrainingSpec training;
};

[[nodiscard]] const std::vector<Key<ModelSpec>>& model_keys();
[[nodiscard]] const std::vector<Key<GpuSpec>>& gpu_keys();
[[nodiscard]] const std::vector<Key<ClusterSpec>>& cluster_keys();
[[nodiscard]] const std::vector<Key<TrainingSpec>>& training_keys();
[[nodiscard]] const std::vector<Key<StackFile>>& stack_keys();
[[nodiscard]] const std::vector<Key<RunSpec>>& run_keys();
[[nodiscard]] const std::vector<Key<MeasuredRun>>& measured_keys();

// The names of Precision in its order.
[[nodiscard]] const std::vector<std::string>& precision_names();

// Reads nested formats whose references have been replaced by objects. They fill the defaults that
// follow from other keys of the same format.
[[nodiscard]] ModelSpec read_model_value(const JsonValue& json, const std::string& prefix,
                                         ReadLog& log);
[[nodiscard]] GpuSpec read_gpu_value(const JsonValue& json, const std::string& prefix,
                                     ReadLog& log);
[[nodiscard]] ClusterSpec read_cluster_value(const JsonValue& json, const std::string& prefix,
                                             ReadLog& log);
// `training` holds the built-in defaults before and those of the stack after.
[[nodiscard]] StackSpec read_stack_value(const JsonValue& json, const std::string& prefix,
                                         TrainingSpec& training, ReadLog& log);
// A run that stands inside another file. Throws ConfigError with all its problems.
[[nodiscard]] RunSpec read_run_value(JsonValue root, const std::string& file,
                                     const RunRules& rules);

}  // namespace shardsim
