// A validation as JSON: sources[] categories[] overall[] memory_sources[] ranks[], then records[],
// memory[] and unscored[], one a line. Errors are fractions, predicted / measured - 1.
#include "report/validation.h"
#include "report/writers/json_parts.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

Json summary_json(const ErrorSummary& summary, const char* name_key) {
  Json out = Json::object();
  if (name_key != nullptr) out[name_key] = summary.name;
  out["half"] = name(summary.half);
  out["strict"] = summary.strict;
  out["count"] = summary.count;
  out["mean_abs_error"] = finite(summary.mean_abs);
  out["median_abs_error"] = finite(summary.median_abs);
  out["bias"] = finite(summary.bias);
  out["max_abs_error"] = finite(summary.max_abs);
  return out;
}

Json summaries_json(const std::vector<ErrorSummary>& summaries, const char* name_key) {
  Json out = Json::array();
  for (const ErrorSummary& summary : summaries) out.push_back(summary_json(summary, name_key));
  return out;
}

Json categories_json(const std::vector<ErrorSummary>& summaries) {
  Json out = summaries_json(summaries, "category");
  for (Json& row : out) row.erase("strict");
  return out;
}

Json rank_json(const RankSummary& summary) {
  Json out = Json::object();
  out["source"] = summary.source;
  out["half"] = name(summary.half);
  out["jobs"] = summary.jobs;
  out["pairs"] = summary.pairs;
  out["ordered"] = summary.ordered;
  out["mean_regret"] = finite(summary.mean_regret);
  return out;
}

template <class Record>
Json head_of(const Record& record) {
  Json out = Json::object();
  out["id"] = record.id;
  out["source"] = record.source;
  out["half"] = name(record.half);
  return out;
}

Json record_json(const TimeRecord& record) {
  Json out = head_of(record);
  out["timed"] = record.timed;
  out["predicted_s"] = finite(record.predicted_s);
  out["measured_s"] = finite(record.measured_s);
  out["error"] = finite(record.error());
  out["assumed"] = record.assumed;
  out["categories"] = record.categories;
  return out;
}

Json memory_json(const MemoryRecord& record) {
  Json out = head_of(record);
  out["figure"] = record.figure;
  out[record.in_bytes() ? "predicted_bytes" : "predicted"] = finite(record.predicted);
  out[record.in_bytes() ? "measured_bytes" : "measured"] = finite(record.measured);
  out["error"] = finite(record.error());
  out["assumed"] = record.assumed;
  return out;
}

}  // namespace

std::string write_json(const Validation& validation) {
  Json out = Json::object();
  out["sources"] = summaries_json(validation.sources, "source");
  out["categories"] = categories_json(validation.categories);
  out["overall"] = summaries_json(validation.overall, nullptr);
  out["memory_sources"] = summaries_json(validation.memory_sources, "source");
  out["ranks"] = Json::array();
  for (const RankSummary& summary : validation.ranks) out["ranks"].push_back(rank_json(summary));
  out["records"] = Json::array();
  for (const TimeRecord& record : validation.records) out["records"].push_back(record_json(record));
  out["memory"] = Json::array();
  for (const MemoryRecord& record : validation.memory) out["memory"].push_back(memory_json(record));
  out["unscored"] = Json::array();
  for (const UnscoredRecord& record : validation.unscored) {
    out["unscored"].push_back({{"id", record.id}, {"source", record.source}, {"why", record.why}});
  }
  return to_text(out, 2);
}

}  // namespace shardsim
