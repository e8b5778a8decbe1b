// How well predictions meet published measurements: per record, per source and category, overall.
//
// An error is predicted / measured - 1 of a time (the step, a layer's forward and backward
// together, or the time that printed TFLOP/s stand for) or of a memory figure. Records whose source
// leaves keys of the run open (`assumed`) are counted apart from strict ones.
#pragma once

#include <string>
#include <vector>

#include "spec/measured_run.h"

namespace shardsim {

struct TimeRecord {
  std::string id;
  std::string source;
  Half half = Half::check;
  std::vector<std::string> assumed;
  std::vector<std::string> categories;  // of run_categories
  std::string job;     // equal for records that differ in nothing but layout and micro batch
  std::string layout;  // equal for records that differ in nothing but the micro batch, job given
  std::string timed;   // "step", "layer", "TFLOP/s"
  double predicted_s = 0;
  double measured_s = 0;
  [[nodiscard]] double error() const { return predicted_s / measured_s - 1; }
  [[nodiscard]] bool strict() const { return assumed.empty(); }
};

struct MemoryRecord {
  std::string id;
  std::string source;
  Half half = Half::check;
  std::vector<std::string> assumed;
  std::string figure;     // "peak", "states", "activations": bytes; "activation share": a fraction
  double predicted = 0;
  double measured = 0;
  [[nodiscard]] bool in_bytes() const { return figure != "activation share"; }
  [[nodiscard]] double error() const { return predicted / measured - 1; }
  [[nodiscard]] bool strict() const { return assumed.empty(); }
};

// Records that are not scored, and why.
struct UnscoredRecord {
  std::string id;
  std::string source;
  std::string why;
};

struct ErrorSummary {
  std::string name;  // source or category; "" overall
  Half half = Half::check;
  bool strict = true;
  std::size_t count = 0;
  double mean_abs = 0;
  double median_abs = 0;
  double bias = 0;  // mean signed error
  double max_abs = 0;
};

// Records of one job that were measured more than 2 % apart: are they ordered right?
struct RankSummary {
  std::string source;
  Half half = Half::check;
  std::size_t jobs = 0;     // with two records or more
  std::size_t pairs = 0;    // measured apart
  std::size_t ordered = 0;  // of them, predicted in the measured order
  double mean_regret = 0;   // measured time of the predicted best layout over the best, minus 1
};

struct Validation {
  std::vector<TimeRecord> records;
  std::vector<MemoryRecord> memory;
  std::vector<UnscoredRecord> unscored;
  std::vector<ErrorSummary> sources;         // by source, half, strict
  std::vector<ErrorSummary> categories;      // by category, half; strict and assumed together
  std::vector<ErrorSummary> overall;         // by half, strict
  std::vector<ErrorSummary> memory_sources;  // "source: figure", half, strict
  std::vector<RankSummary> ranks;            // by source and half
};

// What kinds of run it is: "tp in node", "tp across nodes", "pp-heavy", "interleaved", "dp-heavy",
// "fsdp", "cp", "moe", "fp8", and "one node" or "many nodes"; make_validation adds "micro-batch
// sweep".
[[nodiscard]] std::vector<std::string> run_categories(const RunSpec& run);
// Equal for runs of one model on one machine with one global batch and one way of training.
[[nodiscard]] std::string job_of(const RunSpec& run);
[[nodiscard]] std::string layout_of_job(const RunSpec& run);

// Sorts by source and id, and summarises.
[[nodiscard]] Validation make_validation(std::vector<TimeRecord> records,
                                         std::vector<MemoryRecord> memory,
                                         std::vector<UnscoredRecord> unscored);

[[nodiscard]] std::string_view name(Half half);  // "fit", "check"

}  // namespace shardsim
