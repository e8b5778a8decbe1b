#include "base/errors.h"

#include <utility>

namespace shardsim {

std::string to_text(const Problem& problem) {
  std::string text = problem.file;
  if (!problem.pointer.empty()) text += ":" + problem.pointer;
  text += ": " + problem.what;
  if (!problem.right.empty()) text += "; " + problem.right;
  return text;
}

namespace {

std::string join_problems(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += "\n";
    text += to_text(problem);
  }
  return text;
}

[[noreturn]] void overflow(const char* operation) {
  throw ConfigError({{"sizes", "", std::string("a ") + operation + " exceeds 64 bits",
                      "use smaller model, batch or cluster sizes"}});
}

}  // namespace

ConfigError::ConfigError(std::vector<Problem> problems)
    : std::runtime_error(join_problems(problems)), problems_(std::move(problems)) {}

void fail_check(const char* expression, const char* file, int line, const std::string& detail) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + expression + ": " +
                      detail);
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow("product");
  return result;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflow("sum");
  return result;
}

}  // namespace shardsim
