#include "spec/origin.h"

#include <utility>

namespace shardsim {
namespace {

void collect(const JsonValue& value, const Origin& expected, std::vector<Origin>& origins) {
  Origin here = expected;
  if (value.file != expected.file || value.pointer != expected.pointer) {
    here.file = value.file;
    here.pointer = value.pointer;
    origins.push_back(here);
  }
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string key = value.keys.empty() ? std::to_string(i) : value.keys[i];
    collect(value.items[i],
            {child_pointer(here.at, key), here.file, child_pointer(here.pointer, key)}, origins);
  }
}

bool is_within(const std::string& pointer, const std::string& outer) {
  return pointer.compare(0, outer.size(), outer) == 0 &&
         (pointer.size() == outer.size() || pointer[outer.size()] == '/');
}

}  // namespace

std::vector<Origin> origins_of(const JsonValue& root, const std::string& file) {
  std::vector<Origin> origins;
  collect(root, {"", file, ""}, origins);
  return origins;
}

Problem located(const RunSpec& run, Problem problem) {
  if (problem.file != run.file) {
    return problem;
  }
  const Origin* nearest = nullptr;
  for (const Origin& origin : run.origins) {
    if (is_within(problem.pointer, origin.at) &&
        (nearest == nullptr || origin.at.size() > nearest->at.size())) {
      nearest = &origin;
    }
  }
  if (nearest != nullptr) {
    problem.file = nearest->file;
    problem.pointer = nearest->pointer + problem.pointer.substr(nearest->at.size());
  }
  return problem;
}

ConfigError located(const RunSpec& run, std::vector<Problem> problems) {
  for (Problem& problem : problems) {
    problem = located(run, std::move(problem));
  }
  return ConfigError(std::move(problems));
}

}  // namespace shardsim
