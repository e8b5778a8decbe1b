// The memory report as text, JSON and CSV. Keys of JSON, in this order:
//   peak_bytes capacity_bytes fits headroom_bytes per_stage[as in the report of a run]
//   worst{stage rank ranks pass micro_batch} at_peak[{what bytes}]
//   timeline[{pass micro_batch chunk peak_bytes end_bytes}] of the worst rank, in order
//   changes[{set[] gpus peak_bytes fits}] not_modelled[]
// CSV has one row a stage.
#include <algorithm>

#include "base/text.h"
#include "report/writers/json_parts.h"
#include "report/writers/layout.h"
#include "report/writers/text_parts.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

constexpr std::size_t kTimelineRows = 20;

std::string gib(Bytes amount) {
  return format_fixed(static_cast<double>(amount.value()) / (1024.0 * 1024 * 1024), 2);
}

double fraction(Bytes part, Bytes whole) {
  return whole.value() == 0
             ? 0.0
             : static_cast<double>(part.value()) / static_cast<double>(whole.value());
}

std::string verdict(const MemoryUse& use) {
  if (use.fits) return "fits, " + format_gib(use.capacity - use.peak) + " free";
  return "DOES NOT FIT, " + format_gib(use.peak - use.capacity) + " too much";
}

std::string moment_text(const MemoryMoment& moment) {
  return moment.pass +
         (moment.micro_batch < 0 ? "" : ", micro batch " + std::to_string(moment.micro_batch));
}

std::string stage_table(const MemoryReport& report) {
  Table table;
  table.left = {};
  table.rows.push_back(
      {"stage", "weights", "grads", "optimizer", "activations", "other", "peak", "free"});
  for (const StageMemory& stage : report.use.stages) {
    table.rows.push_back({std::to_string(stage.stage), gib(stage.weights), gib(stage.gradients),
                          gib(stage.optimizer), gib(stage.activations), gib(stage.other),
                          gib(stage.peak), gib(report.use.capacity - stage.peak)});
  }
  return to_text(table);
}

std::string line_table(const MemoryReport& report) {
  Table table;
  for (const MemoryLine& line : report.lines) {
    const double share = fraction(line.bytes, report.use.peak);
    table.rows.push_back({line.what, gib(line.bytes), format_percent(share), bar(share, 26)});
  }
  table.left = {0, 3};
  return to_text(table);
}

// Neighbouring passes share a row when there are many; each row shows its largest.
std::string timeline_table(const MemoryReport& report) {
  const std::vector<MemoryMoment>& moments = report.timeline;
  const std::size_t per_row = (moments.size() + kTimelineRows - 1) / kTimelineRows;
  Table table;
  table.left = {1, 3};
  table.flexible = 1;
  table.rows.push_back({"pass", "", "GiB", ""});
  for (std::size_t first = 0; first < moments.size(); first += per_row) {
    const std::size_t last = std::min(moments.size(), first + per_row);
    const auto most = std::max_element(
        moments.begin() + static_cast<std::ptrdiff_t>(first),
        moments.begin() + static_cast<std::ptrdiff_t>(last),
        [](const MemoryMoment& a, const MemoryMoment& b) { return a.peak < b.peak; });
    table.rows.push_back({per_row == 1 ? std::to_string(first)
                                       : std::to_string(first) + "-" + std::to_string(last - 1),
                          moment_text(*most), gib(most->peak),
                          bar(fraction(most->peak, report.use.peak), 20)});
  }
  return to_text(table);
}

std::string change_text(const MemoryChange& change) {
  return join(change.overrides, ", ") + ": " + format_gib(change.peak) +
         (change.fits ? "" : ", does not fit either");
}

std::string changes_section(const MemoryReport& report) {
  if (report.use.fits) return "";
  std::string out = "\nnearest changes\n";
  const bool any = std::any_of(report.changes.begin(), report.changes.end(),
                               [](const MemoryChange& change) { return change.fits; });
  if (!any) {
    out += wrap("  ",
                "none of the changes tried makes it fit (recompute, sp, ZeRO, micro batch, "
                "tp, cp, pp, up to three together, and more GPUs)");
  }
  for (const MemoryChange& change : report.changes) {
    const std::string gpus =
        change.gpus == report.run.gpus ? "" : counted(change.gpus, "GPU") + ": ";
    out += wrap("  - ", gpus + change_text(change));
  }
  return out;
}

Json changes_json(const MemoryReport& report) {
  Json out = Json::array();
  for (const MemoryChange& change : report.changes) {
    out.push_back({{"set", change.overrides},
                   {"gpus", change.gpus},
                   {"peak_bytes", change.peak.value()},
                   {"fits", change.fits}});
  }
  return out;
}

Json timeline_json(const MemoryReport& report) {
  Json out = Json::array();
  for (const MemoryMoment& moment : report.timeline) {
    out.push_back({{"pass", moment.pass},
                   {"micro_batch", or_null(moment.micro_batch)},
                   {"chunk", moment.chunk},
                   {"peak_bytes", moment.peak.value()},
                   {"end_bytes", moment.at_end.value()}});
  }
  return out;
}

}  // namespace

std::string write_text(const MemoryReport& report) {
  RunReport row;
  row.run = report.run;
  const MemoryUse& use = report.use;
  std::string out = wrap("", report.run.model.name + " on " + counted(report.run.gpus, "GPU") +
                                 " " + report.run.cluster.gpu.name);
  out += "\n" + layout_table({&row, 1}) + "\n";
  out += wrap("peak      ",
              format_gib(use.peak) + " of " + format_gib(use.capacity) + ": " + verdict(use));
  out += wrap("worst     ", "stage " + std::to_string(report.worst_stage) + ", rank " +
                                std::to_string(report.worst_rank) + " (" +
                                counted(report.worst_ranks, "rank") + " alike), in " +
                                moment_text(at(report.timeline, report.peak_pass)));
  out += "\none GPU per stage, GiB\n" + stage_table(report);
  out += "\nheld by rank " + std::to_string(report.worst_rank) + " at its peak, GiB\n" +
         line_table(report);
  out +=
      "\nrank " + std::to_string(report.worst_rank) + " over its passes\n" + timeline_table(report);
  out += changes_section(report);
  out += "\nnot modelled\n";
  for (const std::string& item : report.not_modelled) out += wrap("  - ", item);
  return out;
}

std::string write_json(const MemoryReport& report) {
  const MemoryUse& use = report.use;
  Json out = memory_json(use, true);
  Json stages = std::move(out["per_stage"]);
  out.erase("per_stage");
  out["headroom_bytes"] = (use.capacity - use.peak).value();
  out["per_stage"] = std::move(stages);
  const MemoryMoment& moment = at(report.timeline, report.peak_pass);
  out["worst"] = Json{{"stage", report.worst_stage},
                      {"rank", report.worst_rank},
                      {"ranks", report.worst_ranks},
                      {"pass", moment.pass},
                      {"micro_batch", or_null(moment.micro_batch)}};
  out["at_peak"] = Json::array();
  for (const MemoryLine& line : report.lines) {
    out["at_peak"].push_back({{"what", line.what}, {"bytes", line.bytes.value()}});
  }
  out["timeline"] = timeline_json(report);
  out["changes"] = changes_json(report);
  out["not_modelled"] = report.not_modelled;
  constexpr int kOpenLevels = 2;
  return to_text(out, kOpenLevels);
}

std::string write_csv(const MemoryReport& report) {
  std::string out =
      "stage,weights_bytes,gradients_bytes,optimizer_bytes,activations_bytes,other_bytes,"
      "peak_bytes,capacity_bytes,headroom_bytes\n";
  for (const StageMemory& stage : report.use.stages) {
    std::vector<std::string> cells{std::to_string(stage.stage)};
    for (const Bytes amount :
         {stage.weights, stage.gradients, stage.optimizer, stage.activations, stage.other,
          stage.peak, report.use.capacity, report.use.capacity - stage.peak}) {
      cells.push_back(std::to_string(amount.value()));
    }
    out += join(cells, ",") + "\n";
  }
  return out;
}

}  // namespace shardsim
