// The format of measured-run files, and its reader.
#include <algorithm>
#include <filesystem>
#include <set>

#include "spec/reader.h"
#include "spec/sources.h"
#include "spec/tables.h"

namespace shardsim {
namespace {

constexpr double kMost = 1e12;  // of any published figure: larger ones are typing errors (assumed)

using M = MeasuredRun;
using Keys = std::vector<Key<MeasuredRun>>;

void add_figure(Keys& keys, const std::string& name, std::optional<double> Measured::*member,
                const std::string& help) {
  keys.push_back({{"measured." + name, number_above(0, kMost), absent(), help},
                  [member](M& m, const Parsed& v) { m.measured.*member = v.number; }});
}

// Printed by sources, but no figure that a prediction is held against.
void add_note(Keys& keys, const std::string& name, const std::string& help) {
  keys.push_back({{name, any_value(), absent(), help}, {}});
}

void add_measured(Keys& keys) {
  keys.push_back({{"measured", object(), required(), "what the source printed"}, {}});
  add_figure(keys, "step_time_s", &Measured::step_time_s, "seconds of one step");
  add_figure(keys, "layer_fwd_ms", &Measured::layer_forward_ms,
             "one layer forward, milliseconds, TP included");
  add_figure(keys, "layer_bwd_ms", &Measured::layer_backward_ms,
             "one layer backward, milliseconds, with its recomputation");
  add_figure(keys, "tflops_per_gpu", &Measured::tflops_per_gpu, "TFLOP/s in flops_convention");
  keys.push_back(
      {{"measured.flops_convention", text(), derived("not stated: TFLOP/s are listed, not scored"),
        "what tflops_per_gpu counts (shardsim list flops-conventions)"},
       [](M& m, const Parsed& v) { m.measured.flops_convention = v.text; }});
  add_figure(keys, "mem_gib", &Measured::peak_gib, "peak memory of the worst GPU, GiB");
  add_figure(keys, "mem_states_gib", &Measured::states_gib,
             "weights, gradients and optimizer of the first stage, GiB");
  add_figure(keys, "mem_activations_gib", &Measured::activations_gib,
             "activations of the first stage, GiB");
  add_figure(keys, "activation_mem_pct_of_tp_baseline", &Measured::activation_percent,
             "activations in percent of those without SP and recomputation");
  add_note(keys, "measured.mem_note", "how the memory figure is to be read");
  add_note(keys, "measured.tokens_per_s_per_gpu", "as printed");
  add_note(keys, "measured.mfu", "as printed");
  add_note(keys, "measured.hfu", "as printed");
  add_note(keys, "measured.derived", "how a figure was worked out of what was printed");
}

void store_assumed(M& record, const Parsed& value) {
  const std::vector<JsonValue>& items = value.json->items;
  const bool strings = std::all_of(items.begin(), items.end(), [](const JsonValue& item) {
    return item.kind == JsonValue::Kind::string;
  });
  if (value.json->kind != JsonValue::Kind::array || !strings) {
    add_problem(*value.log, *value.json, brief_json(*value.json) + " is no list of keys",
                "write dotted keys of the config, such as [\"batch.micro\"]");
    return;
  }
  for (const JsonValue& item : items) record.assumed.push_back(item.text);
}

Keys make_keys() {
  Keys keys;
  keys.push_back({{"id", text(), required(), "name of the record, unique in its file"},
                  [](M& m, const Parsed& v) { m.id = v.text; }});
  keys.push_back({{"source", text(), required(), "where it was published"}, {}});
  // Read by read_record, as a run file is.
  keys.push_back({{"config", any_value(), required(), "a run file, or its path"}, {}});
  add_measured(keys);
  keys.push_back({{"half", choice({"fit", "check"}), by_default("\"check\""),
                   "whether the record may be fitted to"},
                  [](M& m, const Parsed& v) { m.half = static_cast<Half>(v.choice); }});
  keys.push_back({{"assumed", any_value(), by_default("[]"),
                   "list of the keys of config that the source does not state"},
                  store_assumed});
  add_note(keys, "approx", "how exact the figures are");
  add_note(keys, "notes", "what else the source says");
  return keys;
}

std::string stem(const std::string& file) {
  return file == "-" ? "stdin" : std::filesystem::path(file).stem().string();
}

// A record's own mistakes go to `problems`; what is wrong with its config only refuses the record.
void read_record(const JsonValue& item, const std::string& file, const RunRules& rules,
                 MeasuredFile& out, std::vector<Problem>& problems) {
  ReadLog log;
  MeasuredRun record;
  read_into(record, item, measured_keys(), "", log);
  const JsonValue* config = find(item, "config");
  if (!log.problems.empty() || config == nullptr) {
    problems.insert(problems.end(), log.problems.begin(), log.problems.end());
    return;
  }
  try {
    JsonValue tree = *config;
    resolve_reference(tree, Format::run, log.problems);
    if (!log.problems.empty()) throw ConfigError(log.problems);
    record.run = read_run_value(std::move(tree), file, rules);
    out.runs.push_back(std::move(record));
  } catch (const ConfigError& error) {
    out.refused.push_back({record.id, error.problems()});
  }
}

}  // namespace

const std::vector<Key<MeasuredRun>>& measured_keys() {
  static const Keys keys = make_keys();
  return keys;
}

MeasuredFile read_measured_runs(const std::string& file, const RunRules& rules) {
  std::vector<Problem> problems;
  const std::optional<JsonValue> root = load_json(file, problems);
  if (root && root->kind != JsonValue::Kind::array) {
    problems.push_back({file, "", std::string("holds ") + std::string(kind_name(root->kind)),
                        "write an array of records [ { \"id\": ... }, ... ]"});
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
  MeasuredFile out;
  out.source = stem(file);
  std::set<std::string> ids;
  for (const JsonValue& item : root->items) {
    if (item.kind != JsonValue::Kind::object) {
      problems.push_back({file, item.pointer, "a record is an object", "write { \"id\": ... }"});
      continue;
    }
    const JsonValue* id = find(item, "id");
    if (id != nullptr && !id->text.empty() && !ids.insert(id->text).second) {
      problems.push_back({file, id->pointer, "a second record is called " + brief_json(*id),
                          "give each record an id of its own"});
    }
    read_record(item, file, rules, out, problems);
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
  return out;
}

}  // namespace shardsim
