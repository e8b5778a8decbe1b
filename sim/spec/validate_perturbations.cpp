// Rules over the list of perturbations: one subject each, inside the machine.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

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
    complain(c, key, count == 0 ? "names nothing" : "names several things",
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
      complain(c, key + "." + effect, fmt::format("a {} has no {}", subject->key, effect),
               fitting.empty() ? "leave it out" : "state " + join_or(fitting));
      return false;
    }
  }
  if (stated_effects != 1 && !subject->effects.empty()) {
    complain(c, key,
             fmt::format("says {} about the {}", stated_effects == 0 ? "nothing" : "two things",
                         subject->key),
             fmt::format("state {}{}", subject->effects.size() > 1 ? "one of " : "",
                         join_or(subject->effects)));
    return false;
  }
  return true;
}

void check_index(Checking& c, const std::string& key, std::int64_t index, std::int64_t size,
                 const std::string& things) {
  if (index >= size) {
    complain(c, key, fmt::format("{} is outside the {} {} of the job", index, size, things),
             size == 0 ? "leave it out" : fmt::format("use 0 to {}", size - 1));
  }
}

// The number behind a word: "node3" -> 3; -1 when it does not read so.
std::int64_t number_behind(std::string_view text, std::string_view word) {
  if (text.substr(0, word.size()) != word) {
    return -1;
  }
  text.remove_prefix(word.size());
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : -1;
}

// Links of nodes are checked here; those of switches by the fabric, which numbers them.
void check_link(Checking& c, const std::string& key, const std::string& link) {
  const NodeSpec& node = c.run.cluster.node;
  const std::vector<std::string> parts = split(link, '.');
  const std::int64_t node_number = number_behind(parts[0], "node");
  if (node_number < 0) {
    const bool of_switch = number_behind(parts[0], "leaf") >= 0 ||
                           number_behind(parts[0], "pod") >= 0 ||
                           number_behind(parts[0], "spine") >= 0;
    if (!of_switch) {
      complain(c, key, brief_quote(link) + " is no link",
               R"(use a name such as "node3.nic2", "node3.gpu5.nvlink.tx" or "leaf4.up")");
    }
    return;
  }
  std::size_t end = 2;
  std::int64_t gpu = -1;
  std::int64_t nic = -1;
  if (parts.size() >= 2) {
    gpu = number_behind(parts[1], "gpu");
    nic = std::max(number_behind(parts[1], "nic"), number_behind(parts[1], "pcie"));
  }
  const bool nvlink = gpu >= 0 && parts.size() >= 3 && parts[2] == "nvlink";
  end += nvlink ? 1 : 0;
  const bool directed = parts.size() == end + 1 && (parts[end] == "tx" || parts[end] == "rx");
  if ((nic < 0 && !nvlink) || (parts.size() != end && !directed)) {
    complain(c, key, brief_quote(link) + " is no link",
             R"(use a name such as "node3.nic2", "node3.gpu5.nvlink.tx" or "leaf4.up")");
    return;
  }
  check_index(c, key, node_number, c.run.nodes, "nodes");
  if (nvlink) {
    check_index(c, key, gpu, node.gpus, "GPUs of a node");
  } else {
    check_index(c, key, nic, node.nics, "NICs of a node");
  }
}

void check_place(Checking& c, const std::string& key, const Perturbation& item) {
  const NodeSpec& node = c.run.cluster.node;
  switch (item.kind) {
    case Perturbation::Kind::gpu:
      check_index(c, key + ".gpu", item.index, c.run.nodes * node.gpus, "GPU slots");
      break;
    case Perturbation::Kind::node:
      check_index(c, key + ".node", item.index, c.run.nodes, "nodes");
      break;
    case Perturbation::Kind::rail:
      check_index(c, key + ".rail", item.index, node.nics, "rails");
      break;
    case Perturbation::Kind::link:
      check_link(c, key + ".link", item.link);
      break;
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
    const bool machine = usable(
        c, {"gpus", "nodes", "cluster.node.gpus", "cluster.node.nics", "cluster.node.nics.count"});
    if (check_shape(c, key, list->items[i]) && machine) {
      check_place(c, key, c.run.perturbations[i]);
    }
  }
}

}  // namespace shardsim
