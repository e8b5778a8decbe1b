#include "report/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "spec/precision.h"

namespace shardsim {
namespace {

// A pipeline this deep or deeper is "pp-heavy", this many replicas or more "dp-heavy" (named so in
// reports only; no prediction depends on it).
constexpr std::int64_t kDeepPipeline = 8;
constexpr std::int64_t kManyReplicas = 8;
// Published times repeat to about this much.
constexpr double kApart = 0.02;

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

ErrorSummary summary(const std::string& name, Half half, bool strict,
                     const std::vector<double>& errors) {
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  return {.name = name,
          .half = half,
          .strict = strict,
          .count = errors.size(),
          .mean_abs = mean(sizes),
          .median_abs = median(sizes),
          .bias = mean(errors),
          .max_abs = *std::max_element(sizes.begin(), sizes.end())};
}

// Summaries of records by (name, half, strict), in that order.
class Summaries {
 public:
  void add(const std::string& name, Half half, bool strict, double error) {
    errors_[{name, half, !strict}].push_back(error);
  }
  [[nodiscard]] std::vector<ErrorSummary> all() const {
    std::vector<ErrorSummary> result;
    for (const auto& [key, errors] : errors_) {
      const auto& [name, half, loose] = key;
      result.push_back(summary(name, half, !loose, errors));
    }
    return result;
  }

 private:
  std::map<std::tuple<std::string, Half, bool>, std::vector<double>> errors_;
};

bool is_eight_bit_or_less(Precision precision) {
  return precision == Precision::fp8 || precision == Precision::mxfp8 ||
         precision == Precision::nvfp4;
}

using Jobs = std::map<std::string, std::vector<TimeRecord*>>;

Jobs by_job(std::vector<TimeRecord>& records) {
  Jobs jobs;
  for (TimeRecord& record : records) {
    jobs[record.source + "\n" + record.job].push_back(&record);
  }
  return jobs;
}

void rank(const std::vector<TimeRecord*>& job, RankSummary& summary, double& regret) {
  const TimeRecord* fastest = job.front();
  const TimeRecord* chosen = job.front();
  for (std::size_t i = 0; i < job.size(); ++i) {
    if (job[i]->measured_s < fastest->measured_s) fastest = job[i];
    if (job[i]->predicted_s < chosen->predicted_s) chosen = job[i];
    for (std::size_t j = 0; j < i; ++j) {
      const double measured = job[i]->measured_s / job[j]->measured_s;
      if (std::abs(std::log(measured)) <= std::log1p(kApart)) continue;
      ++summary.pairs;
      const double predicted = job[i]->predicted_s / job[j]->predicted_s;
      if ((measured > 1) == (predicted > 1)) ++summary.ordered;
    }
  }
  ++summary.jobs;
  regret += chosen->measured_s / fastest->measured_s - 1;
}

std::vector<RankSummary> rank_summaries(std::vector<TimeRecord>& records) {
  std::map<std::pair<std::string, Half>, std::pair<RankSummary, double>> found;
  for (const Half half : {Half::fit, Half::check}) {
    for (auto& [job, all] : by_job(records)) {
      std::vector<TimeRecord*> members;
      for (TimeRecord* record : all) {
        if (record->half == half && record->timed == "step") members.push_back(record);
      }
      if (members.size() < 2) continue;
      auto& [summary, regret] = found[{members.front()->source, half}];
      summary.source = members.front()->source;
      summary.half = half;
      rank(members, summary, regret);
    }
  }
  std::vector<RankSummary> result;
  for (auto& [key, one] : found) {
    one.first.mean_regret = one.second / static_cast<double>(one.first.jobs);
    result.push_back(one.first);
  }
  return result;
}

// Records of one job and layout with different micro batches.
void mark_sweeps(std::vector<TimeRecord>& records) {
  std::map<std::string, std::vector<TimeRecord*>> sweeps;
  for (TimeRecord& record : records) {
    sweeps[record.source + "\n" + record.job + "\n" + record.layout].push_back(&record);
  }
  for (auto& [key, members] : sweeps) {
    if (members.size() < 2) continue;
    for (TimeRecord* record : members) record->categories.emplace_back("micro-batch sweep");
  }
}

template <class Record>
void sort_by_source(std::vector<Record>& records) {
  std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    return std::tie(a.source, a.id) < std::tie(b.source, b.id);
  });
}

}  // namespace

std::string_view name(Half half) { return half == Half::fit ? "fit" : "check"; }

std::vector<std::string> run_categories(const RunSpec& run) {
  const ParallelSpec& parallel = run.parallel;
  std::vector<std::string> names{run.nodes == 1 ? "one node" : "many nodes"};
  const auto add = [&names](bool is, const char* name) {
    if (is) names.emplace_back(name);
  };
  add(parallel.tp > 1 && parallel.tp <= run.cluster.node.gpus_used, "tp in node");
  add(parallel.tp > run.cluster.node.gpus_used, "tp across nodes");
  add(parallel.pp >= kDeepPipeline, "pp-heavy");
  add(parallel.vpp > 1, "interleaved");
  add(parallel.zero < 3 && parallel.dp >= kManyReplicas, "dp-heavy");
  add(parallel.zero == 3, "fsdp");
  add(parallel.cp > 1, "cp");
  add(run.model.moe.has_value(), "moe");
  add(is_eight_bit_or_less(run.training.precision), "fp8");
  return names;
}

std::string job_of(const RunSpec& run) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", run.model.name, run.model.layers, run.model.hidden,
                     run.cluster.name, run.stack.name, run.gpus, run.batch.global,
                     run.batch.sequence) +
         "|" + std::string(name(run.training.precision));
}

std::string layout_of_job(const RunSpec& run) {
  const ParallelSpec& parallel = run.parallel;
  return fmt::format("tp{} sp{} cp{} pp{} vpp{} ep{} etp{} zero{} group{} {} recompute{}",
                     parallel.tp, parallel.sp ? 1 : 0, parallel.cp, parallel.pp, parallel.vpp,
                     parallel.ep, parallel.etp, parallel.zero, parallel.zero_group,
                     run.training.schedule, static_cast<int>(run.training.recompute));
}

Validation make_validation(std::vector<TimeRecord> records, std::vector<MemoryRecord> memory,
                           std::vector<UnscoredRecord> unscored) {
  Validation result;
  result.records = std::move(records);
  result.memory = std::move(memory);
  result.unscored = std::move(unscored);
  sort_by_source(result.records);
  sort_by_source(result.memory);
  sort_by_source(result.unscored);
  mark_sweeps(result.records);
  Summaries sources;
  Summaries categories;
  Summaries overall;
  for (const TimeRecord& record : result.records) {
    sources.add(record.source, record.half, record.strict(), record.error());
    overall.add("", record.half, record.strict(), record.error());
    for (const std::string& one : record.categories) {
      categories.add(one, record.half, true, record.error());
    }
  }
  Summaries memory_sources;
  for (const MemoryRecord& record : result.memory) {
    memory_sources.add(record.source + ": " + record.figure, record.half, record.strict(),
                       record.error());
  }
  result.sources = sources.all();
  result.categories = categories.all();
  result.overall = overall.all();
  result.memory_sources = memory_sources.all();
  result.ranks = rank_summaries(result.records);
  return result;
}

}  // namespace shardsim
