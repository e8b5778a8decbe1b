// The report of one run for people: what was asked, how fast, where the time goes, does it fit,
// why. Every figure carries its unit; every rate its convention and peak.
#include "base/text.h"

#include <algorithm>
#include <cmath>

#include "report/perturbations.h"
#include "report/words.h"
#include "report/writers/layout.h"
#include "report/writers/text_parts.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

constexpr std::size_t kCollectivesShown = 8;
constexpr std::size_t kLinksShown = 8;
constexpr std::size_t kPathRowsShown = 3;
constexpr std::size_t kStageColumn = 12;  // the widest column of milliseconds, with its gap

std::string asked(const RunReport& report) {
  const RunSpec& run = report.run;
  const ModelSpec& model = run.model;
  const ParallelSpec& parallel = run.parallel;
  std::string out =
      wrap("", model.name + " on " + counted(run.gpus, "GPU") + " " + run.cluster.gpu.name + ", " +
                   counted(run.nodes, "node") + " of " + run.cluster.name);
  out += "\n" + layout_table({&report, 1});
  out += wrap("  model     ", format_count(report.analysis.parameters) + " parameters; " +
                                  std::to_string(model.layers) + " layers, hidden " +
                                  std::to_string(model.hidden) + ", ffn " +
                                  std::to_string(model.ffn) + ", " + std::to_string(model.heads) +
                                  " heads, " + std::to_string(model.kv_heads) + " KV heads");
  std::string layout = std::string(parallel.sp ? "sp on" : "sp off") + ", ZeRO " +
                       std::to_string(parallel.zero) + ", order " + order_text(parallel);
  if (!run.training.schedule.empty()) layout += ", schedule " + run.training.schedule;
  out += wrap("  layout    ", layout);
  out += wrap("  training  ", std::string(name(run.training.precision)) + ", gradients " +
                                  std::string(name(run.training.grad_dtype)) + ", " +
                                  word(run.training.attention) + " attention, recompute " +
                                  recompute_text(run.training));
  out += wrap("  software  ", run.stack.name);
  if (!run.perturbations.empty()) out += wrap("  perturbed ", perturbations_text(run));
  return out;
}

std::string memory_verdict(const MemoryUse& memory) {
  std::string text = format_gib(memory.peak) + " of " + format_gib(memory.capacity) + ": ";
  if (memory.fits) return text + "fits, " + format_gib(memory.capacity - memory.peak) + " free";
  return text + "DOES NOT FIT, " + format_gib(memory.peak - memory.capacity) +
         " too much; `shardsim memory` on this run names the nearest change that fits";
}

std::string headline(const RunReport& report) {
  const Rates& rates = report.analysis.rates;
  const std::string peak = format_flops(rates.peak) + " " + rates.peak_name;
  std::string out;
  out += wrap("step time      ", format_seconds(Seconds{report.analysis.step_s}));
  out += wrap("tokens/s       ", format_count(std::llround(rates.tokens_per_s)) + "; per GPU " +
                                     format_fixed(rates.tokens_per_s_per_gpu, 1));
  out += wrap("model TFLOP/s  ",
              format_fixed(rates.model_tflops_per_gpu, 1) + " per GPU (" + rates.flops_convention +
                  ": " + format_fixed(rates.model_flops_per_token / 1e9, 2) + " GFLOP per token)");
  out += wrap("MFU            ",
              format_percent(rates.mfu) + " of " + peak + " (" + rates.flops_convention + ")");
  out += wrap("HFU            ", format_percent(rates.hfu) + " of " + peak + " (" +
                                     rates.flops_convention + ", recomputed work counted)");
  out += wrap("memory         ", memory_verdict(report.analysis.memory));
  return out;
}

// The rows that take most of the critical path, in words.
template <class Share, class Name>
std::string largest_shares(std::vector<Share> rows, Name&& name_of) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Share& a, const Share& b) { return a.seconds > b.seconds; });
  std::vector<std::string> words;
  for (const Share& row : rows) {
    if (words.size() == kPathRowsShown) {
      words.push_back(counted(static_cast<std::int64_t>(rows.size() - words.size()), "other"));
      break;
    }
    words.push_back(name_of(row) + " " + format_seconds(Seconds{row.seconds}));
  }
  return join(words, ", ");
}

std::string path_lines(const RunReport& report) {
  std::string out;
  const std::vector<StageShare> stages = path_by_stage(report);
  if (stages.size() > 1) {
    out += wrap("  critical path by stage: ", largest_shares(stages, [](const StageShare& row) {
                  return std::to_string(row.stage);
                }));
  }
  const bool chunks = report.run.parallel.vpp > 1;
  const auto layer_name = [&](const LayerShare& row) {
    std::string place = stages.size() > 1 ? "stage " + std::to_string(row.stage) + " " : "";
    if (chunks) place += "chunk " + std::to_string(row.chunk) + " ";
    return place + (row.layer < 0 ? "outside layers" : "layer " + std::to_string(row.layer));
  };
  out += wrap("  critical path by layer: ", largest_shares(path_by_layer(report), layer_name));
  const std::vector<LinkShare> links = path_by_link(report);
  if (!links.empty()) {
    out += wrap("  critical path by link: ",
                largest_shares(links, [](const LinkShare& row) { return row.link; }));
  }
  return out;
}

std::string breakdown_section(const RunReport& report) {
  const Breakdown& mean = report.analysis.breakdown;
  const Breakdown& path = report.analysis.critical_path.by_category;
  const double step = report.analysis.step_s;
  const auto share = [step](double seconds) { return step > 0 ? seconds / step : 0; };
  std::string out = "where the step goes: mean over all GPUs, and on the critical path\n";
  Table table;
  table.rows.push_back({"", "mean", "", "", "critical", ""});
  table.left = {0, 3};
  table.flexible = 3;
  for (Bin bin : shown_bins({mean, path})) {
    table.rows.push_back({std::string(name(bin)), format_seconds(Seconds{mean[bin]}),
                          format_percent(share(mean[bin])), bar(share(mean[bin]), 26),
                          format_seconds(Seconds{path[bin]}), format_percent(share(path[bin]))});
  }
  out += to_text(table);
  return out + path_lines(report);
}

using Rows = std::vector<std::vector<std::string>>;

// Stages that follow each other and read alike share a row: "1-6".
void merge_alike(Rows& rows) {
  Rows merged;
  std::size_t first = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool alike = !merged.empty() &&
                       std::equal(rows[i].begin() + 1, rows[i].end(), merged.back().begin() + 1);
    if (alike) {
      merged.back()[0] = std::to_string(first) + "-" + rows[i][0];
    } else {
      first = i;
      merged.push_back(rows[i]);
    }
  }
  rows = std::move(merged);
}

// As many columns beside the first as fit in a line, then the next table.
std::string tables_across(const Rows& rows) {
  std::string out;
  const std::size_t columns_in_all = rows.front().size();
  std::size_t next = 1;
  while (next < columns_in_all) {
    Table table;
    table.left = {};
    for (const auto& row : rows) table.rows.push_back({row[0]});
    std::size_t used = 0;
    do {
      for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].push_back(rows[i][next]);
      ++next;
      used = widest_line(table);
    } while (next < columns_in_all && used + kStageColumn <= kTextWidth);
    out += (out.empty() ? "" : "\n") + to_text(table);
  }
  return out;
}

std::string stage_section(const RunReport& report) {
  const std::vector<Breakdown>& stages = report.analysis.breakdown_per_stage;
  if (stages.size() < 2) return "";
  const std::vector<Bin> bins = shown_bins(stages);
  Rows rows;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    rows.push_back({std::to_string(stage)});
    for (Bin bin : bins) rows.back().push_back(format_fixed(stages[stage][bin] * 1e3, 2));
  }
  merge_alike(rows);
  rows.insert(rows.begin(), {"stage"});
  for (Bin bin : bins) rows.front().emplace_back(name(bin));
  return "\nper pipeline stage: mean over its GPUs, milliseconds\n" + tables_across(rows);
}

std::string gib(Bytes amount) {
  return format_fixed(static_cast<double>(amount.value()) / (1024.0 * 1024 * 1024), 2);
}

std::string memory_section(const RunReport& report) {
  const MemoryUse& memory = report.analysis.memory;
  std::string out = "\nmemory of one GPU per stage, GiB (capacity " + gib(memory.capacity) + ")\n";
  Table table;
  table.left = {};
  table.rows.push_back(
      {"stage", "weights", "grads", "optimizer", "activations", "other", "peak", "free"});
  for (const StageMemory& stage : memory.stages) {
    table.rows.push_back({std::to_string(stage.stage), gib(stage.weights), gib(stage.gradients),
                          gib(stage.optimizer), gib(stage.activations), gib(stage.other),
                          gib(stage.peak), gib(memory.capacity - stage.peak)});
  }
  return out + to_text(table);
}

std::string bound_text(const CollectiveUse& use) {
  if (use.bound_link.empty()) return "latency";
  return name(link_kind(use.bound_link)) + " " + format_rate(use.bound) + " (" + use.bound_link +
         ")";
}

std::string collective_section(const RunReport& report) {
  const std::vector<CollectiveUse>& uses = report.analysis.collectives;
  if (uses.empty()) return "";
  std::string out = "\ngroups: messages of one GPU in the step, together; mean over all GPUs\n" +
                    groups_table(report);
  out += "\nlargest collectives: mean over all GPUs; time in flight and the exposed part\n";
  Table table;
  table.left = {0, 1};
  table.flexible = 1;
  table.rows.push_back({"group", "collective", "count", "message", "time", "exposed"});
  const std::size_t shown = std::min(uses.size(), kCollectivesShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const CollectiveUse& use = uses[i];
    table.rows.push_back({use.group, use.label, format_mean(use.count), format_bytes(use.message),
                          format_seconds(Seconds{use.time_s}),
                          format_seconds(Seconds{use.exposed_s})});
  }
  const std::vector<std::string> lines = split(to_text(table), '\n');
  out += lines[0] + "\n";
  for (std::size_t i = 0; i < shown; ++i) {
    out += lines[i + 1] + "\n";
    out += wrap("         ", uses[i].algorithm + ", bound by " + bound_text(uses[i]));
  }
  if (uses.size() > shown) {
    out += "  and " + std::to_string(uses.size() - shown) + " more (--format json has all)\n";
  }
  return out;
}

std::string link_section(const RunReport& report) {
  const std::vector<LinkUtilisation>& links = report.analysis.links;
  if (links.empty()) return "";
  std::string out = "\nbusiest links: share of their bandwidth over the step\n";
  Table table;
  table.left = {0, 3};
  table.flexible = 3;
  table.rows.push_back({"link", "alike", "busy", "used by"});
  for (std::size_t i = 0; i < std::min(links.size(), kLinksShown); ++i) {
    std::vector<std::string> users;
    for (const TraceLinkUser& user : links[i].users) {
      users.push_back(user.group + " " + format_amount(user.bytes));
    }
    table.rows.push_back({clip(links[i].link, 34), format_count(links[i].count),
                          format_percent(links[i].utilisation), join(users, ", ")});
  }
  return out + to_text(table);
}

std::string notes_section(const RunReport& report) {
  std::string out = "\nevents: " + counted(report.events.ranks, "rank") + " in " +
                    counted(report.events.rank_classes, "class") + ", " +
                    counted(report.events.flows, "flow") + ", " +
                    counted(report.events.timers, "timer") + "\n";
  out += "\nassumptions\n";
  const std::string stack = "set by stack " + report.run.stack.name + ": ";
  const std::string fallback = "default: ";
  std::vector<std::string> by_stack;
  std::vector<std::string> defaults;
  for (const std::string& assumption : report.assumptions) {
    if (assumption.rfind(fallback, 0) == 0) {
      defaults.push_back(assumption.substr(fallback.size()));
    } else if (assumption.rfind(stack, 0) == 0) {
      by_stack.push_back(assumption.substr(stack.size()));
    } else {
      out += wrap("  - ", assumption);
    }
  }
  if (!by_stack.empty()) out += wrap("  - ", stack + join(by_stack, ", "));
  if (!defaults.empty()) out += wrap("  - ", "defaults taken: " + join(defaults, ", "));
  if (!report.warnings.empty()) out += "\nwarnings\n";
  for (const std::string& warning : report.warnings) out += wrap("  - ", warning);
  return out;
}

}  // namespace

std::string write_text(const RunReport& report) {
  return asked(report) + "\n" + headline(report) + "\n" + breakdown_section(report) +
         stage_section(report) + memory_section(report) + collective_section(report) +
         link_section(report) + notes_section(report);
}

}  // namespace shardsim
