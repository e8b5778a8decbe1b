// The file of moe.load_file: how many tokens each expert gets, in any unit, for their shares count.
//   { "tokens_per_expert": [512, 498, ...] }     or the array alone
#include <fmt/format.h>

#include <numeric>

#include "base/ids.h"
#include "base/text.h"
#include "spec/checks.h"
#include "spec/sources.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostTokens = 1'000'000'000'000;  // of one expert; beyond it is an error

void problem(Checking& c, const JsonValue& at, std::string what, std::string right) {
  c.log.problems.push_back({at.file, at.pointer, std::move(what), std::move(right)});
}

const JsonValue* loads_array(Checking& c, const JsonValue& root) {
  const JsonValue* loads =
      root.kind == JsonValue::Kind::object ? find(root, "tokens_per_expert") : &root;
  if (loads == nullptr || loads->kind != JsonValue::Kind::array) {
    problem(c, loads == nullptr ? root : *loads, "holds no tokens per expert",
            "write {\"tokens_per_expert\": [ one number per expert ]}");
    return nullptr;
  }
  for (const std::string& key : root.keys) {
    if (key != "tokens_per_expert" && key != "source" && key != "$schema") {
      problem(c, *find(root, key), "unknown key", "use tokens_per_expert and source");
      return nullptr;
    }
  }
  return loads;
}

}  // namespace

void read_expert_loads(Checking& c) {
  const JsonValue* stated_file = stated(c, "moe.load_file");
  if (stated_file == nullptr || c.run.moe.load_file.empty() || !usable(c, {"moe.load_file"})) {
    return;
  }
  const std::optional<JsonValue> root = load_json(path_of(*stated_file), c.log.problems);
  const JsonValue* loads = root ? loads_array(c, *root) : nullptr;
  if (loads == nullptr) {
    return;
  }
  std::vector<std::int64_t> tokens;
  for (const JsonValue& item : loads->items) {
    if (item.kind != JsonValue::Kind::integer || item.integer < 0 || item.integer > kMostTokens) {
      problem(c, item, brief_json(item) + " is no number of tokens",
              fmt::format("write a whole number from 0 to {}", kMostTokens));
      return;
    }
    tokens.push_back(item.integer);
  }
  const auto experts = c.run.model.moe->experts;
  if (count(tokens) != experts) {
    problem(c, *loads,
            fmt::format("{} for {}", counted(count(tokens), "load"), counted(experts, "expert")),
            fmt::format("write {}", counted(experts, "number")));
  } else if (std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0}) == 0) {
    problem(c, *loads, "no expert gets a token", "write how many each gets");
  } else {
    c.run.moe.tokens_per_expert = std::move(tokens);
  }
}

}  // namespace shardsim
