#include "report/writers/text_parts.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/writers/layout.h"

namespace shardsim {

namespace {

Table layout_rows(std::span<const RunReport> reports) {
  Table table;
  table.rows.push_back(
      {"", "#GPUs", "GBS", "MBS", "SeqLen", "TP", "PP", "CP", "VP", "EP", "DP", "GA"});
  for (const RunReport& report : reports) {
    const RunSpec& run = report.run;
    const ParallelSpec& parallel = run.parallel;
    table.rows.push_back({report.name, std::to_string(run.gpus), std::to_string(run.batch.global),
                          std::to_string(run.batch.micro), std::to_string(run.batch.sequence),
                          std::to_string(parallel.tp), std::to_string(parallel.pp),
                          std::to_string(parallel.cp), std::to_string(parallel.vpp),
                          std::to_string(parallel.ep), std::to_string(parallel.dp),
                          std::to_string(run.batch.micro_batches)});
  }
  const bool named = std::any_of(reports.begin(), reports.end(),
                                 [](const RunReport& report) { return !report.name.empty(); });
  if (!named) {
    table.left = {};
    for (auto& row : table.rows) row.erase(row.begin());
  }
  return table;
}

}  // namespace

std::string layout_table(std::span<const RunReport> reports) {
  return to_text(layout_rows(reports));
}

bool layout_table_fits(std::span<const RunReport> reports) {
  return widest_line(layout_rows(reports)) <= kTextWidth;
}

std::vector<Bin> shown_bins(const std::vector<Breakdown>& breakdowns) {
  std::vector<Bin> bins;
  for (std::size_t i = 0; i < kBinCount; ++i) {
    const bool any = std::any_of(breakdowns.begin(), breakdowns.end(),
                                 [i](const Breakdown& one) { return one.seconds.at(i) != 0.0; });
    if (any) bins.push_back(static_cast<Bin>(i));
  }
  return bins;
}

std::string format_mean(double count) {
  const double whole = std::round(count);
  return count == whole ? format_count(std::llround(whole)) : format_fixed(count, 2);
}

std::string format_amount(double bytes) {
  return format_bytes(Bytes{static_cast<std::int64_t>(std::llround(bytes))});
}

std::string bound_text(const GroupUse& use) {
  if (use.bound_kind == LinkKind::none) return "latency";
  return name(use.bound_kind) + " " + format_rate(use.bound);
}

std::string groups_table(const RunReport& report) {
  Table table;
  table.left = {0, 6};
  table.flexible = 6;
  table.rows.push_back({"group", "ranks", "per node", "bytes", "time", "exposed", "bound by"});
  for (const GroupUse& use : report.groups) {
    table.rows.push_back({use.group, format_count(use.ranks), format_count(use.ranks_per_node),
                          format_amount(use.bytes), format_seconds(Seconds{use.time_s}),
                          format_seconds(Seconds{use.exposed_s}), bound_text(use)});
  }
  return to_text(table);
}

}  // namespace shardsim
