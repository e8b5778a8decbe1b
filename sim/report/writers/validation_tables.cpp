// A validation as text (80 columns), Markdown and CSV.
#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "report/validation.h"
#include "report/writers/layout.h"
#include "report/writers/tables.h"
#include "report/writers/text_parts.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string percent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }
std::string signed_percent(double fraction) { return fmt::format("{:+.1f} %", 100 * fraction); }

Rows summary_rows(const std::vector<ErrorSummary>& summaries, const std::string& what,
                  bool with_strict) {
  Rows rows{{what, "half", "runs", "mean |error|", "median", "bias", "max"}};
  if (with_strict) rows[0].insert(rows[0].begin() + 2, "config");
  for (const ErrorSummary& one : summaries) {
    rows.push_back({one.name.empty() ? "all" : one.name, std::string(name(one.half)),
                    std::to_string(one.count), percent(one.mean_abs), percent(one.median_abs),
                    signed_percent(one.bias), percent(one.max_abs)});
    if (with_strict) rows.back().insert(rows.back().begin() + 2, one.strict ? "stated" : "assumed");
  }
  return rows;
}

Rows rank_rows(const Validation& validation) {
  Rows rows{{"source", "half", "jobs", "pairs", "in order", "regret"}};
  for (const RankSummary& one : validation.ranks) {
    const double share =
        one.pairs == 0 ? 1 : static_cast<double>(one.ordered) / static_cast<double>(one.pairs);
    rows.push_back({one.source, std::string(name(one.half)), std::to_string(one.jobs),
                    std::to_string(one.pairs), percent(share), percent(one.mean_regret)});
  }
  return rows;
}

Rows record_rows(const Validation& validation) {
  Rows rows{{"record", "half", "predicted", "measured", "error"}};
  for (const TimeRecord& one : validation.records) {
    rows.push_back({one.id + (one.strict() ? "" : " *"), std::string(name(one.half)),
                    fmt::format("{:.4g} s", one.predicted_s),
                    fmt::format("{:.4g} s", one.measured_s), signed_percent(one.error())});
  }
  return rows;
}

struct Section {
  std::string title;
  Rows rows;
};

std::vector<Section> sections_of(const Validation& validation) {
  std::vector<Section> all{
      {"Step times by source", summary_rows(validation.sources, "source", true)},
      {"Overall", summary_rows(validation.overall, "records", true)},
      {"By category", summary_rows(validation.categories, "category", false)},
      {"Layouts of one job, measured more than 2 % apart", rank_rows(validation)},
      {"Memory", summary_rows(validation.memory_sources, "source: figure", true)}};
  std::vector<Section> filled;
  for (Section& section : all) {
    if (section.rows.size() > 1) filled.push_back(std::move(section));
  }
  return filled;
}

// "12 records not scored: no stack is named "maxtext"": equal reasons together.
std::vector<std::string> unscored_notes(const Validation& validation) {
  std::map<std::string, std::size_t> reasons;
  for (const UnscoredRecord& record : validation.unscored) ++reasons[record.why];
  std::vector<std::string> notes;
  for (const auto& [why, times] : reasons) {
    notes.push_back(fmt::format("{} not scored: {}", counted(static_cast<std::int64_t>(times), "record"), why));
  }
  return notes;
}

constexpr const char* kConvention =
    "error = predicted / measured - 1; \"assumed\": the source leaves keys of the run open";

}  // namespace

std::string write_text(const Validation& validation, bool with_records) {
  std::string out = wrap("", kConvention);
  for (const Section& section : sections_of(validation)) {
    out += "\n" + section.title + "\n" + to_text(Table{.rows = section.rows});
  }
  if (with_records && !validation.records.empty()) {
    out += "\nRecords (* keys assumed)\n" + to_text(Table{.rows = record_rows(validation)});
  }
  const std::vector<std::string> notes = unscored_notes(validation);
  if (!notes.empty()) out += "\nnotes\n";
  for (const std::string& note : notes) out += wrap("  - ", note);
  return out;
}

std::string write_markdown(const Validation& validation) {
  std::string out = std::string(kConvention) + ".\n";
  for (const Section& section : sections_of(validation)) {
    out += "\n## " + section.title + "\n\n" + markdown_table(section.rows);
  }
  const std::vector<std::string> notes = unscored_notes(validation);
  if (!notes.empty()) out += "\n";
  for (const std::string& note : notes) out += "* " + note + "\n";
  return out;
}

std::string write_csv(const Validation& validation) {
  std::string out = "id,source,half,timed,predicted_s,measured_s,error,assumed,categories\n";
  for (const TimeRecord& one : validation.records) {
    out += csv_line({one.id, one.source, std::string(name(one.half)), one.timed,
                     fmt::format("{}", one.predicted_s), fmt::format("{}", one.measured_s),
                     fmt::format("{}", one.error()), join(one.assumed, " "),
                     join(one.categories, "; ")});
  }
  return out;
}

}  // namespace shardsim
