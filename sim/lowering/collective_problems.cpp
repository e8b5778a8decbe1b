// Which algorithms a run may choose for which collective.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "lowering/algorithms/algorithm.h"
#include "lowering/lowering.h"
#include "spec/json_value.h"
#include "spec/known_names.h"

namespace shardsim {
namespace {

std::optional<Primitive> primitive_of(const std::string& key) {
  for (const Primitive primitive :
       {Primitive::all_reduce, Primitive::reduce_scatter, Primitive::all_gather,
        Primitive::all_to_all, Primitive::broadcast}) {
    if (name(primitive) == key) {
      return primitive;
    }
  }
  return key == "send_recv" ? std::optional(Primitive::send) : std::nullopt;
}

// Groups of every shape that algorithms tell apart: inside a node, one rank on each of several
// nodes, several on each.
bool applies_somewhere(const Algorithm& algorithm, Primitive primitive) {
  const GroupShape inside{.ranks = 2, .nodes = 1, .min_per_node = 2, .max_per_node = 2};
  const GroupShape across{.ranks = 2, .nodes = 2, .min_per_node = 1, .max_per_node = 1};
  const GroupShape both{.ranks = 4, .nodes = 2, .min_per_node = 2, .max_per_node = 2};
  return algorithm.applies(primitive, inside) || algorithm.applies(primitive, across) ||
         algorithm.applies(primitive, both);
}

// What may be written for a collective: `auto`, and the algorithms of the table that carry it and
// have a name in run files (send_recv has one way only).
std::vector<std::string> choices_for(const std::string& key) {
  const std::vector<std::string> writable = names(known_algorithms());
  const std::optional<Primitive> primitive = primitive_of(key);
  std::vector<std::string> choices{"auto"};
  for (const Algorithm& algorithm : collective_algorithms()) {
    if (primitive && applies_somewhere(algorithm, *primitive) &&
        std::find(writable.begin(), writable.end(), algorithm.name) != writable.end()) {
      choices.push_back(algorithm.name);
    }
  }
  return choices;
}

}  // namespace

std::vector<Problem> collective_problems(const RunSpec& run) {
  std::vector<Problem> problems;
  for (const auto& [key, choice] : run.collectives) {
    std::vector<std::string> choices = choices_for(key);
    if (std::find(choices.begin(), choices.end(), choice.algorithm) != choices.end()) {
      continue;
    }
    std::transform(choices.begin(), choices.end(), choices.begin(), quote);
    problems.push_back(
        {run.file, fmt::format("/collectives/{}/algorithm", key),
         fmt::format("{} is no algorithm for {} in this version", quote(choice.algorithm), key),
         "use " + join_or(choices)});
  }
  return problems;
}

}  // namespace shardsim
