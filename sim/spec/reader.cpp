#include "spec/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "spec/checks.h"
#include "spec/overrides.h"
#include "spec/sources.h"
#include "spec/tables.h"

namespace shardsim {
namespace {

// Nobody mends more than this in one go.
constexpr std::size_t kShownProblems = 100;

constexpr const char* kDefaultStack = "megatron-core";

void throw_if_any(std::vector<Problem> problems) {
  if (problems.empty()) {
    return;
  }
  if (problems.size() > kShownProblems) {
    const std::size_t more = problems.size() - kShownProblems;
    const std::string file = problems.back().file;
    problems.resize(kShownProblems);
    problems.push_back({file, "", "and " + std::to_string(more) + " more problems", ""});
  }
  throw ConfigError(std::move(problems));
}

// The tree of a loaded text; throws when there is none to go on with.
JsonValue must_be_object(std::optional<JsonValue> root, std::vector<Problem>& problems,
                         const std::string& file) {
  if (root && root->kind != JsonValue::Kind::object) {
    problems.push_back({file, "", std::string("holds ") + std::string(kind_name(root->kind)),
                        "write an object { ... }"});
    root.reset();
  }
  if (!root) {
    throw_if_any(std::move(problems));
  }
  return *std::move(root);
}

bool sets_whole(const Overrides& overrides, const std::string& key) {
  return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& text) {
    return text.substr(0, text.find('=')) == key;
  });
}

// RunSpec::defaults_taken: what the user did not state, each with the value that holds for it.
//   "parallel.cp = 1", "parallel.dp = 4", "cluster.fabric.nodes_per_leaf = (half the ports ...)",
//   "set by stack megatron-core: training.attention = flash"
std::string key_of(const std::string& taken) { return taken.substr(0, taken.find(" = ")); }

std::string without_quotes(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '"'), text.end());
  return text;
}

// Keys that mean nothing for this job.
bool is_idle(const RunSpec& run, const std::string& key) {
  return (key == "model.max_positions" && run.model.position != Position::learned) ||
         (key.compare(0, 4, "moe.") == 0 && !run.model.moe) || key == "nodes" || key == "gpus" ||
         key == "parallel.layout" || (key == "parallel.cp_balanced" && run.parallel.cp == 1) ||
         (key == "parallel.cp_a2a" &&
          (run.parallel.cp == 1 || run.parallel.cp_comm != CpComm::a2a_p2p));
}

// What a rule gave for a key, where that is a number or a name; "" for the other keys.
std::string derived_value(const RunSpec& run, const std::string& key) {
  const std::map<std::string, std::string> values{
      {"parallel.dp", std::to_string(run.parallel.dp)},
      {"parallel.zero_group", std::to_string(run.parallel.zero_group)},
      {"batch.global", std::to_string(run.batch.global)},
      {"training.schedule", run.training.schedule},
      {"training.param_dtype", std::string(name(run.training.param_dtype))},
      {"model.kv_heads", std::to_string(run.model.kv_heads)},
      {"model.head_dim", std::to_string(run.model.head_dim)},
      {"model.max_positions", std::to_string(run.model.max_positions)},
      {"model.dropout", fmt::format("{}", run.model.dropout)},
      {"cluster.node.gpus_used", std::to_string(run.cluster.node.gpus_used)}};
  const auto found = values.find(key);
  return found == values.end() ? "" : found->second;
}

std::vector<std::string> told_defaults(const RunSpec& run, const JsonValue& root,
                                       const std::vector<std::string>& taken) {
  std::vector<std::string> told;
  for (const std::string& one : taken) {
    const std::string key = key_of(one);
    const JsonValue* by_stack =
        key.compare(0, 9, "training.") == 0 ? find_path(root, "stack." + key) : nullptr;
    const std::string derived = derived_value(run, key);
    if (is_idle(run, key)) {
      continue;
    }
    if (by_stack != nullptr && by_stack->kind != JsonValue::Kind::null) {
      told.push_back("set by stack " + run.stack.name + ": " + key + " = " +
                     without_quotes(brief_json(*by_stack)));
    } else {
      told.push_back(derived.empty() ? without_quotes(one) : key + " = " + derived);
    }
  }
  return told;
}

// Whether nothing in or around these keys was wrong by itself.
bool intact(const ReadLog& log, const std::vector<std::string>& keys) {
  const auto within = [](const std::string& key, const std::string& outer) {
    return key.compare(0, outer.size(), outer) == 0 &&
           (key.size() == outer.size() || key[outer.size()] == '.');
  };
  return std::none_of(log.failed.begin(), log.failed.end(), [&](const std::string& failed) {
    return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return within(failed, key) || within(key, failed);
    });
  });
}

void apply_rules(Checking& c, const RunRules& rules) {
  for (const RunRule& rule : rules) {
    if (!intact(c.log, rule.keys)) {
      continue;
    }
    for (Problem& problem : rule.problems(c.run)) {
      std::string key = problem.pointer.substr(1);
      std::replace(key.begin(), key.end(), '/', '.');  // pointers of rules have plain keys
      complain(c, key, std::move(problem.what), std::move(problem.right));
    }
  }
}

RunSpec read_run_tree(JsonValue root, const std::string& file, const Overrides& overrides,
                      const RunRules& rules, ReadLog log) {
  const JsonValue* stack = find(root, "stack");
  if (stack != nullptr && stack->kind == JsonValue::Kind::null) {
    remove_key(root, "stack");
    stack = nullptr;
  }
  if (stack == nullptr) {
    JsonValue name = json_string(kDefaultStack);
    name.file = file;
    name.pointer = "/stack";
    put(root, "stack", std::move(name));
    if (!sets_whole(overrides, "stack")) {
      log.defaults_taken.push_back(std::string("stack = ") + kDefaultStack);
    }
  }
  for (const std::string& text : overrides) {
    apply_override(root, Format::run, text, log.problems);
  }
  resolve_references(root, Format::run, log.problems);
  RunSpec run;
  run.file = file;
  read_into(run, root, run_keys(), "", log);
  Checking checking{run, root, log};
  derive(checking);
  validate_parallel(checking);
  validate_context(checking);
  validate_moe(checking);
  validate_pipeline(checking);
  validate_sizes(checking);
  validate_work(checking);
  validate_cluster(checking);
  validate_machine(checking);
  validate_perturbations(checking);
  refuse_unsupported(checking, "");
  apply_rules(checking, rules);
  throw_if_any(std::move(log.problems));
  run.defaults_taken = told_defaults(run, root, log.defaults_taken);
  return run;
}

// A name or path of the command line as the value of a key.
JsonValue command_word(const std::string& word, Format format) {
  JsonValue value = json_string(word);
  value.file = format_name(format);
  return value;
}

}  // namespace

const std::vector<KeyInfo>& key_infos(Format format) {
  static const std::vector<KeyInfo> run_infos = infos_of(run_keys());
  static const std::vector<KeyInfo> model_infos = infos_of(model_keys());
  static const std::vector<KeyInfo> cluster_infos = infos_of(cluster_keys());
  static const std::vector<KeyInfo> gpu_infos = infos_of(gpu_keys());
  static const std::vector<KeyInfo> stack_infos = infos_of(stack_keys());
  static const std::vector<KeyInfo> measured_infos = infos_of(measured_keys());
  switch (format) {
    case Format::run:
      return run_infos;
    case Format::model:
      return model_infos;
    case Format::cluster:
      return cluster_infos;
    case Format::gpu:
      return gpu_infos;
    case Format::measured:
      return measured_infos;
    case Format::stack:
      break;
  }
  return stack_infos;
}

RunSpec read_run_value(JsonValue root, const std::string& file, const RunRules& rules) {
  ReadLog log;
  JsonValue object = must_be_object(std::move(root), log.problems, file);
  return read_run_tree(std::move(object), file, {}, rules, std::move(log));
}

RunSpec read_run(const std::string& source, const Overrides& overrides, const RunRules& rules) {
  ReadLog log;
  std::optional<JsonValue> root = load_json(source, log.problems);
  JsonValue object = must_be_object(std::move(root), log.problems, source);
  return read_run_tree(std::move(object), source, overrides, rules, std::move(log));
}

RunSpec read_run_text(std::string_view text, const std::string& file, const Overrides& overrides,
                      const RunRules& rules) {
  ReadLog log;
  std::optional<JsonValue> root = parse_source(text, file, log.problems);
  JsonValue object = must_be_object(std::move(root), log.problems, file);
  return read_run_tree(std::move(object), file, overrides, rules, std::move(log));
}

ClusterSpec read_cluster(const std::string& name_or_path, const Overrides& overrides) {
  ReadLog log;
  JsonValue tree = command_word(name_or_path, Format::cluster);
  resolve_reference(tree, Format::cluster, log.problems);
  if (tree.kind != JsonValue::Kind::object) {
    throw_if_any(std::move(log.problems));
  }
  for (const std::string& text : overrides) {
    apply_override(tree, Format::cluster, text, log.problems);
  }
  resolve_references(tree, Format::cluster, log.problems);
  RunSpec run;
  run.cluster = read_cluster_value(tree, "cluster.", log);
  JsonValue root = json_object();
  put(root, "cluster", std::move(tree));
  Checking checking{run, root, log};
  validate_cluster(checking);
  refuse_unsupported(checking, "cluster.");
  throw_if_any(std::move(log.problems));
  return run.cluster;
}

ModelSpec read_model(const std::string& name_or_path) {
  ReadLog log;
  JsonValue tree = command_word(name_or_path, Format::model);
  resolve_reference(tree, Format::model, log.problems);
  if (tree.kind != JsonValue::Kind::object) {
    throw_if_any(std::move(log.problems));
  }
  ModelSpec model = read_model_value(tree, "model.", log);
  throw_if_any(std::move(log.problems));
  return model;
}

}  // namespace shardsim
