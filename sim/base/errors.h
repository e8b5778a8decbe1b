// The two kinds of failure: ConfigError is the user's fault (exit code 2), InternalError is ours
// (exit code 1). ConfigError carries every problem found, so that a user mends them in one go.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace shardsim {

// One thing wrong in an input: printed as `file:/json/pointer: what; right`.
struct Problem {
  std::string file;     // path, `--set` for an override, or a command-line word
  std::string pointer;  // JSON pointer such as /parallel/tp; may be empty
  std::string what;     // what is wrong, with the numbers
  std::string right;    // which values would be right
  bool operator==(const Problem&) const = default;
};

[[nodiscard]] std::string to_text(const Problem& problem);

// Thrown by spec/ and by check_* functions once, after all problems have been collected.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

// A broken invariant of this program: never the user's doing.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* expression, const char* file, int line,
                             const std::string& detail);

// Exact 64-bit arithmetic; throws ConfigError (the sizes a user asked for overflow) instead of
// wrapping.
[[nodiscard]] std::int64_t checked_mul(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t checked_add(std::int64_t a, std::int64_t b);

}  // namespace shardsim

// CHECK(condition, "detail"): InternalError with file and line when the condition does not hold.
#define SHARDSIM_CHECK(condition, detail)                               \
  do {                                                                  \
    if (!(condition)) {                                                 \
      ::shardsim::fail_check(#condition, __FILE__, __LINE__, (detail)); \
    }                                                                   \
  } while (false)
