// What the formats can say and this version does not do: refused by name, here and nowhere else.
// One line per feature; whoever implements it deletes its line. Schedules, collective algorithms
// and fabric families have tables of their own, which say what there is (RunRule in run_rule.h).
#include <fmt/format.h>

#include "base/text.h"
#include "spec/checks.h"

namespace shardsim {
namespace {

using Asks = bool (*)(const RunSpec& run, const JsonValue& value);

struct Later {
  std::string key;  // dotted; * is every member or item
  Asks asks;        // whether a stated value needs the feature
  std::string feature;
  std::string use;
  std::string unless = "";  // a key beside it whose own row says it, when stated
};

bool always(const RunSpec& /*run*/, const JsonValue& /*value*/) { return true; }
bool is_true(const RunSpec& /*run*/, const JsonValue& value) { return value.boolean; }

std::vector<Later> layout_and_training() {
  return {
      {"training.recompute_modules",
       [](const RunSpec& run, const JsonValue&) {
         return run.training.recompute == Recompute::selective &&
                run.training.recompute_modules !=
                    std::vector<RecomputeModule>{RecomputeModule::core_attn};
       },
       "selective recompute of other modules than core_attn", R"(use ["core_attn"])"},
      {"training.overlap.tp", is_true, "TP collectives in chunks beside matrix products",
       "use false"},
  };
}

std::vector<Later> collectives_and_the_rest() {
  return {
      {"collectives.*.protocol",
       [](const RunSpec&, const JsonValue& value) { return value.text != "auto"; },
       "a choice of protocol", R"(use "auto")"},
      {"collectives.*.channels", always, "a choice of channels", "leave it out"},
      {"perturbations.*.dead", is_true, "a dead link", R"(use a "bandwidth" above 0)", "spine"},
      {"perturbations.*.spine", always, "a slow or dead spine", "leave the entry out"},
      {"perturbations.*.jitter", always, "jitter", "leave the entry out"},
      {"plan.tokens", always, "a plan of the whole training", "leave it out"},
      {"plan.gpu_hour_cost", always, "a plan of the whole training", "leave it out"},
  };
}

std::vector<Later> clusters() {
  return {
      {"cluster.node.nvlink.kind",
       [](const RunSpec&, const JsonValue& value) { return value.text != "switch"; },
       "this way to join the GPUs of a node", R"(use "switch")"},
      {"cluster.fabric.spreading",
       [](const RunSpec&, const JsonValue& value) { return value.text != "ideal"; },
       "hash spreading", R"(use "ideal")"},
      {"cluster.gpu.efficiency.gemm.table", always, "a table of measured efficiencies",
       "use the fitted model"},
      {"cluster.gpu.efficiency.attention.table", always, "a table of measured efficiencies",
       "use the fitted model"},
      {"cluster.gpu.efficiency.memory.table", always, "a table of measured efficiencies",
       "use the fitted model"},
      {"cluster.gpu.efficiency.grouped_gemm", always, "grouped matrix products", "leave it out"},
  };
}

const std::vector<Later>& later() {
  static const std::vector<Later> table = [] {
    std::vector<Later> all = layout_and_training();
    for (std::vector<Later> (*part)() : {collectives_and_the_rest, clusters}) {
      const std::vector<Later> rows = part();
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return table;
}

void refuse(Checking& c, const Later& row, const std::string& key) {
  const JsonValue* value = stated(c, key);
  if (value == nullptr || !usable(c, {key}) || !row.asks(c.run, *value)) {
    return;
  }
  const std::string beside = key.substr(0, key.rfind('.') + 1) + row.unless;
  if (!row.unless.empty() && stated(c, beside) != nullptr) {
    return;
  }
  const bool large = value->kind == JsonValue::Kind::object;
  complain(c, key,
           fmt::format("{}{}{} is not available in this version", large ? "" : brief_json(*value),
                       large ? "" : ": ", row.feature),
           row.use);
}

}  // namespace

void refuse_unsupported(Checking& c, std::string_view prefix) {
  for (const Later& row : later()) {
    if (row.key.substr(0, prefix.size()) != prefix) {
      continue;
    }
    const std::size_t star = row.key.find('*');
    if (star == std::string::npos) {
      refuse(c, row, row.key);
      continue;
    }
    const std::string list = row.key.substr(0, star - 1);
    const JsonValue* members = stated(c, list);
    if (members == nullptr || !usable(c, {list})) {
      continue;
    }
    for (std::size_t i = 0; i < members->items.size(); ++i) {
      const std::string member = members->keys.empty() ? std::to_string(i) : members->keys[i];
      refuse(c, row, fmt::format("{}.{}{}", list, member, row.key.substr(star + 1)));
    }
  }
}

}  // namespace shardsim
