// Rules over the list of perturbations: one subject each, inside the machine.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "spec/checks.h"

namespace shardsim {
namespace {

struct Subject {
  const char* key;
  std::vector<std::string> effects;  // which of them say what is wrong with it; one is needed
};

const std::array<Subject, 6>& subjects() {
  static const std::array<Subject, 6> table{{{"gpu", {"speed"}},
                                             {"node", {"speed"}},
                                             {"link", {"bandwidth", "dead"}},
                                             {"rail", {"bandwidth"}},
                                             {"spine", {"bandwidth", "dead"}},
                                             {"jitter", {}}}};
  return table;
}

bool has(const JsonValue& item, const std::string& key) {
  const JsonValue* value = find(item, key);
  return value != nullptr && value->kind != JsonValue::Kind::null;
}

// One subject, and one effect that fits it.
bool check_shape(Checking& c, const std::string& key, const JsonValue& item) {
  const Subject* subject = nullptr;
  int count = 0;
  for (const Subject& candidate : subjects()) {
    if (has(item, candidate.key)) {
      subject = &candidate;
      ++count;
    }
  }
  if (count != 1) {
    give_up(c, key, count == 0 ? "names nothing" : "names several things",
            "state exactly one of gpu, node, link, rail, spine or jitter");
    return false;
  }
  int stated_effects = 0;
  for (const char* effect : {"speed", "bandwidth", "dead"}) {
    if (!has(item, effect)) {
      continue;
    }
    ++stated_effects;
    const std::vector<std::string>& fitting = subject->effects;
    if (std::find(fitting.begin(), fitting.end(), effect) == fitting.end()) {
      give_up(c, key + "." + effect, fmt::format("a {} has no {}", subject->key, effect),
              fitting.empty() ? "leave it out" : "state " + join_or(fitting));
      return false;
    }
  }
  if (stated_effects != 1 && !subject->effects.empty()) {
    give_up(c, key,
            fmt::format("says {} about the {}", stated_effects == 0 ? "nothing" : "two things",
                        subject->key),
            fmt::format("state {}{}", subject->effects.size() > 1 ? "one of " : "",
                        join_or(subject->effects)));
    return false;
  }
  return true;
}

void check_index(Checking& c, const std::string& key, std::int64_t index, std::int64_t size,
                 std::string_view thing) {
  if (index >= size) {
    give_up(c, key, fmt::format("{} is outside the {} of the job", index, counted(size, thing)),
            "use " + range_text(0, size - 1));
  }
}

// Rails and links are the fabric's to know (platform/perturbation.h).
void check_place(Checking& c, const std::string& key, const Perturbation& item) {
  const NodeSpec& node = c.run.cluster.node;
  switch (item.kind) {
    case Perturbation::Kind::gpu:
      check_index(c, key + ".gpu", item.index, c.run.nodes * node.gpus, "GPU slot");
      break;
    case Perturbation::Kind::node:
      check_index(c, key + ".node", item.index, c.run.nodes, "node");
      break;
    case Perturbation::Kind::rail:
    case Perturbation::Kind::link:
    case Perturbation::Kind::spine:
    case Perturbation::Kind::jitter:
      break;
  }
}

}  // namespace

void validate_perturbations(Checking& c) {
  const JsonValue* list = stated(c, "perturbations");
  if (list == nullptr || !usable(c, {"perturbations"})) {
    return;
  }
  for (std::size_t i = 0; i < c.run.perturbations.size(); ++i) {
    const std::string key = fmt::format("perturbations.{}", i);
    const bool machine = usable(c, {"gpus", "nodes", "cluster.node.gpus"});
    if (check_shape(c, key, list->items[i]) && machine) {
      check_place(c, key, c.run.perturbations[i]);
    }
  }
}

}  // namespace shardsim
