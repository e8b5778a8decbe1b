// Runs side by side for people: step times and breakdowns in columns, then for each run after the
// first what changed and, for the groups that communicate, bytes, time, algorithm and bounding
// link. Facts only: bandwidths per direction and how the ranks of a group sit on nodes.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/perturbations.h"
#include "report/words.h"
#include "report/writers/layout.h"
#include "report/writers/text_parts.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

constexpr std::size_t kRunsAcross = 4;
constexpr std::size_t kHeadWidth = 18;  // "  tokens/s per GPU"

std::string signed_seconds(double seconds) {
  return (seconds > 0 ? "+" : "") + format_seconds(Seconds{seconds});
}
std::string ratio(double value) { return format_fixed(value, 2) + "x"; }

using Runs = std::span<const RunReport>;

// One line of the side-by-side table: a head and one cell a run.
template <class Cell>
void add_row(Table& table, const std::string& head, Runs runs, Cell&& cell) {
  std::vector<std::string> row{head};
  for (const RunReport& run : runs) row.push_back(cell(run));
  table.rows.push_back(std::move(row));
}

std::string recompute_word(const RunReport& run) { return word(run.run.training.recompute); }

// Columns for the name of each of so many runs.
std::size_t column_room(std::size_t runs) { return (kTextWidth - kHeadWidth) / runs - 2; }

std::string side_by_side(Runs runs, const std::vector<Bin>& bins) {
  Table table;
  const std::size_t room = column_room(runs.size());
  add_row(table, "", runs, [room](const RunReport& run) { return clip(run.name, room); });
  add_row(table, "step time", runs,
          [](const RunReport& run) { return format_seconds(Seconds{run.analysis.step_s}); });
  add_row(table, "tokens/s per GPU", runs, [](const RunReport& run) {
    return format_fixed(run.analysis.rates.tokens_per_s_per_gpu, 1);
  });
  add_row(table, "TFLOP/s per GPU", runs, [](const RunReport& run) {
    return format_fixed(run.analysis.rates.model_tflops_per_gpu, 1);
  });
  add_row(table, "MFU", runs,
          [](const RunReport& run) { return format_percent(run.analysis.rates.mfu); });
  add_row(table, "HFU", runs,
          [](const RunReport& run) { return format_percent(run.analysis.rates.hfu); });
  add_row(table, "memory", runs,
          [](const RunReport& run) { return format_gib(run.analysis.memory.peak); });
  add_row(table, "fits", runs, [](const RunReport& run) {
    return std::string(run.analysis.memory.fits ? "yes" : "NO");
  });
  add_row(table, "recompute", runs, recompute_word);
  for (Bin bin : bins) {
    add_row(table, std::string(name(bin)), runs, [bin](const RunReport& run) {
      return format_seconds(Seconds{run.analysis.breakdown[bin]});
    });
  }
  return to_text(table);
}

std::string conventions(Runs runs) {
  std::vector<std::string> facts;
  for (const RunReport& run : runs) {
    const Rates& rates = run.analysis.rates;
    const std::string fact =
        rates.flops_convention + ", peak " + format_flops(rates.peak) + " " + rates.peak_name;
    if (std::find(facts.begin(), facts.end(), fact) == facts.end()) facts.push_back(fact);
  }
  return wrap("  ", "TFLOP/s, MFU, HFU: " + join(facts, "; "));
}

// Largest first; what rounding leaves of equal times is not shown.
std::string causes(const Difference& difference, double step_s) {
  std::vector<std::pair<double, std::string>> terms;
  for (Bin bin : shown_bins({difference.by_cause})) {
    const double seconds = difference.by_cause[bin];
    if (std::abs(seconds) < 1e-9 * step_s) continue;
    terms.emplace_back(std::abs(seconds), std::string(name(bin)) + " " + signed_seconds(seconds));
  }
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (const auto& [size, term] : terms) words.push_back(term);
  return words.empty() ? "no difference" : join(words, ", ");
}

std::string placement_text(const GroupUse& use) {
  return counted(use.ranks, "rank") + ", " + format_count(use.ranks_per_node) + " per node, on " +
         counted(use.nodes, "node");
}

std::string carriage_text(const GroupUse& use) {
  if (use.bound_kind == LinkKind::none) return "bound by latency";
  std::string text =
      join(use.algorithms, ", ") + "; bound by " + bound_text(use) + " (" + use.bound_link + ")";
  if (use.quoted.value() > 0) text += ", quoted " + format_rate(use.quoted) + " per direction";
  return text;
}

// "8 ranks, 1 per node, on 8 nodes: 3,200 messages, 429.5 GB, 2.1 s in flight, 1.9 s exposed;
//  ring; bound by NIC 47.00 GB/s (node0.nic0.tx), quoted 50.00 GB/s per direction"
std::string group_sentence(const GroupUse& use) {
  return placement_text(use) + ": " + format_mean(use.count) +
         (use.count == 1 ? " message" : " messages") + ", " + format_amount(use.bytes) + ", " +
         format_seconds(Seconds{use.time_s}) + " in flight, " +
         format_seconds(Seconds{use.exposed_s}) + " exposed; " + carriage_text(use);
}

std::string groups_section(const Comparison& comparison) {
  std::vector<std::string> groups;
  for (const RunReport& run : comparison.runs) {
    for (const GroupUse& use : run.groups) {
      if (std::find(groups.begin(), groups.end(), use.group) == groups.end()) {
        groups.push_back(use.group);
      }
    }
  }
  std::string out;
  for (const std::string& group : groups) {
    out += "\ngroup " + group + ": messages of one GPU in the step, mean over all GPUs\n";
    for (const RunReport& run : comparison.runs) {
      const GroupUse* use = find_group(run, group);
      out += "  " + clip(run.name, kTextWidth - 2) + "\n";
      out += wrap("    ", use == nullptr ? "no communication" : group_sentence(*use));
    }
  }
  return out;
}

std::string tp_section(const Difference& difference, const RunReport& run, const RunReport& first) {
  std::string out;
  if (difference.tp_exposed_ratio > 0) {
    out += wrap("  exposed TP (tp + sp): ", format_seconds(Seconds{exposed_tp(run)}) + " against " +
                                                format_seconds(Seconds{exposed_tp(first)}) + ": " +
                                                ratio(difference.tp_exposed_ratio));
  }
  const LinkRatio& link = difference.tp_link;
  if (link.reached <= 0) return out;
  std::string text =
      name(link.against_kind) + " against " + name(link.kind) + ", one direction each: ";
  if (link.quoted > 0) text += ratio(link.quoted) + " as quoted, ";
  text += ratio(link.reached) + " as reached by large transfers";
  return out + wrap("  bandwidth of the TP links: ", text);
}

std::string difference_section(const Difference& difference, const RunReport& run,
                               const RunReport& first) {
  std::string out =
      "\n" + wrap("", clip(difference.run, 60) + " against " + clip(difference.against, 60));
  out += wrap("  step time: ",
              signed_seconds(difference.total_s) + " (" + ratio(difference.step_ratio) + ")");
  out += wrap("  by cause: ", causes(difference, first.analysis.step_s));
  out += tp_section(difference, run, first);
  for (const LargestChange& change : difference.changes) {
    if (std::abs(change.exposed_s) < 1e-9 * first.analysis.step_s) continue;
    out += wrap("  largest change in " + change.group + ": ",
                change.collective + " " + signed_seconds(change.exposed_s) + " exposed" +
                    (change.link.empty() ? "" : ", bound by " + change.link));
  }
  return out;
}

// Whether all names stand whole over their columns, here and in the table of layouts.
bool names_fit(Runs runs) {
  const std::size_t room = column_room(std::min(kRunsAcross, runs.size()));
  return layout_table_fits(runs) && std::all_of(runs.begin(), runs.end(), [room](const auto& run) {
           return columns(run.name) <= room;
         });
}

// "[1]" over the columns, and what each number stands for.
std::string number_runs(std::vector<RunReport>& heads, std::vector<RunReport>& named) {
  std::string legend = "runs\n";
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const std::string number = "[" + std::to_string(i + 1) + "]";
    legend += wrap("  " + number + " ", named[i].name);
    heads[i].name = number;
    named[i].name = number + " " + named[i].name;
  }
  return legend + "\n";
}

std::string perturbed_section(Runs runs) {
  std::string out;
  for (const RunReport& run : runs) {
    if (run.run.perturbations.empty()) continue;
    out += "  " + clip(run.name, kTextWidth - 2) + "\n";
    out += wrap("    ", perturbations_text(run.run));
  }
  return out.empty() ? out : "\nperturbed\n" + out;
}

std::string warnings_section(Runs runs) {
  std::string out;
  for (const RunReport& run : runs) {
    if (run.warnings.empty()) continue;
    out += "  " + clip(run.name, kTextWidth - 2) + "\n";
    for (const std::string& warning : run.warnings) out += wrap("    - ", warning);
  }
  return out.empty() ? out : "\nwarnings\n" + out;
}

}  // namespace

std::string write_text(const Comparison& comparison) {
  std::vector<RunReport> heads = comparison.runs;
  Comparison named = comparison;
  std::string out;
  if (!names_fit(heads)) {
    out += number_runs(heads, named.runs);
    for (std::size_t i = 0; i < named.differences.size(); ++i) {
      named.differences[i].run = named.runs[i + 1].name;
      named.differences[i].against = named.runs.front().name;
    }
  }
  const Runs runs(heads);
  std::vector<Breakdown> breakdowns;
  for (const RunReport& run : runs) breakdowns.push_back(run.analysis.breakdown);
  const std::vector<Bin> bins = shown_bins(breakdowns);
  out += layout_table(runs);
  for (std::size_t first = 0; first < runs.size(); first += kRunsAcross) {
    out +=
        "\n" + side_by_side(runs.subspan(first, std::min(kRunsAcross, runs.size() - first)), bins);
  }
  out += conventions(runs) + perturbed_section(named.runs) + groups_section(named);
  for (std::size_t i = 0; i < named.differences.size(); ++i) {
    out += difference_section(named.differences[i], named.runs[i + 1], named.runs.front());
  }
  return out + warnings_section(named.runs);
}

}  // namespace shardsim
