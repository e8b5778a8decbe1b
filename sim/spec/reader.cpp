#include "spec/reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "spec/checks.h"
#include "spec/origin.h"
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

// Without the keys that mean nothing for this job.
std::vector<std::string> telling_defaults(const RunSpec& run, std::vector<std::string> keys) {
  const auto idle = [&](const std::string& key) {
    return (key == "model.max_positions" && run.model.position != Position::learned) ||
           (key.compare(0, 4, "moe.") == 0 && !run.model.moe) || key == "nodes" || key == "gpus" ||
           key == "parallel.layout";
  };
  keys.erase(std::remove_if(keys.begin(), keys.end(), idle), keys.end());
  return keys;
}

// What the machine's rules find and no rule of this folder has said at the same place.
void apply_rules(Checking& c, MachineRules rules) {
  const bool unread = std::any_of(c.log.failed.begin(), c.log.failed.end(), [](const auto& key) {
    return key.compare(0, 7, "cluster") == 0 || key.compare(0, 13, "perturbations") == 0;
  });
  if (rules == nullptr || unread || !usable(c, {"gpus", "nodes"})) {
    return;
  }
  for (const Problem& found : rules(c.run)) {
    Problem problem = located(c.run, found);
    const auto same_place = [&](const Problem& other) {
      return other.file == problem.file && (other.pointer == problem.pointer ||
                                            other.pointer.rfind(problem.pointer + "/", 0) == 0);
    };
    if (std::none_of(c.log.problems.begin(), c.log.problems.end(), same_place)) {
      c.log.problems.push_back(std::move(problem));
    }
  }
}

RunSpec read_run_tree(JsonValue root, const std::string& file, const Overrides& overrides,
                      MachineRules rules, ReadLog log) {
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
      log.defaults_taken.emplace_back("stack");
    }
  }
  for (const std::string& text : overrides) {
    apply_override(root, Format::run, text, log.problems);
  }
  resolve_references(root, Format::run, log.problems);
  RunSpec run;
  run.file = file;
  read_into(run, root, run_keys(), "", log);
  run.origins = origins_of(root, file);
  Checking checking{run, root, log};
  derive(checking);
  validate_parallel(checking);
  validate_pipeline(checking);
  validate_sizes(checking);
  validate_work(checking);
  validate_cluster(checking);
  validate_machine(checking);
  validate_perturbations(checking);
  refuse_unsupported(checking, "");
  apply_rules(checking, rules);
  throw_if_any(std::move(log.problems));
  run.defaults_taken = telling_defaults(run, std::move(log.defaults_taken));
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
  switch (format) {
    case Format::run:
      return run_infos;
    case Format::model:
      return model_infos;
    case Format::cluster:
      return cluster_infos;
    case Format::gpu:
      return gpu_infos;
    case Format::stack:
      break;
  }
  return stack_infos;
}

RunSpec read_run(const std::string& source, const Overrides& overrides, MachineRules rules) {
  ReadLog log;
  std::optional<JsonValue> root = load_json(source, log.problems);
  JsonValue object = must_be_object(std::move(root), log.problems, source);
  return read_run_tree(std::move(object), source, overrides, rules, std::move(log));
}

RunSpec read_run_text(std::string_view text, const std::string& file, const Overrides& overrides,
                      MachineRules rules) {
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
