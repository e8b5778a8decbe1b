#include "spec/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kListed = 12;

bool is_stated(const JsonValue* value) {
  return value != nullptr && value->kind != JsonValue::Kind::null;
}

// Deepest value on the way to a key, and what is left of the way as a pointer.
struct Nearest {
  const JsonValue* value;
  std::string rest;
};

Nearest nearest(const JsonValue& root, std::string_view key) {
  Nearest at{&root, ""};
  const std::vector<std::string> parts = split(key, '.');
  std::string path;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    path += (i == 0 ? "" : ".") + parts[i];
    const JsonValue* next = find_path(root, path);
    if (next == nullptr) {
      for (; i < parts.size(); ++i) {
        at.rest = child_pointer(at.rest, parts[i]);
      }
      return at;
    }
    at.value = next;
  }
  return at;
}

}  // namespace

bool usable(const Checking& c, std::initializer_list<std::string_view> keys) {
  return std::none_of(keys.begin(), keys.end(), [&](std::string_view key) {
    return std::any_of(c.log.failed.begin(), c.log.failed.end(), [&](const std::string& failed) {
      const bool within = key.size() > failed.size() && key[failed.size()] == '.';
      return key.substr(0, failed.size()) == failed && (within || key.size() == failed.size());
    });
  });
}

const JsonValue* stated(const Checking& c, std::string_view key) {
  const JsonValue* value = find_path(c.root, key);
  if (is_stated(value)) {
    return value;
  }
  if (key.substr(0, 9) == "training.") {
    value = find_path(c.root, "stack." + std::string(key));
  }
  return is_stated(value) ? value : nullptr;
}

bool stated_in_run(const Checking& c, std::string_view key) {
  return is_stated(find_path(c.root, key));
}

void complain(Checking& c, std::string_view key, std::string what, std::string right) {
  if (const JsonValue* value = stated(c, key)) {
    add_problem(c.log, *value, std::move(what), std::move(right));
    return;
  }
  const Nearest at = nearest(c.root, key);
  c.log.problems.push_back(
      {at.value->file, at.value->pointer + at.rest, std::move(what), std::move(right)});
}

void give_up(Checking& c, std::string_view key, std::string what, std::string right) {
  complain(c, key, std::move(what), std::move(right));
  c.log.failed.emplace_back(key);
}

void warn(Checking& c, std::string text) { c.run.warnings.push_back(std::move(text)); }

std::vector<std::int64_t> divisors(std::int64_t value) {
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  for (std::int64_t d = 1; d * d <= value; ++d) {
    if (value % d == 0) {
      low.push_back(d);
      if (d != value / d) {
        high.push_back(value / d);
      }
    }
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

std::string list_near(const std::vector<std::int64_t>& values, std::int64_t wanted) {
  std::size_t first = 0;
  std::size_t last = values.size();
  while (last - first > kListed) {
    // Drop the end that is further away, as a ratio: 2 is as far from 8 as 32 is.
    const double below = static_cast<double>(wanted) / static_cast<double>(values[first]);
    const double above = static_cast<double>(values[last - 1]) / static_cast<double>(wanted);
    if (below > above) {
      ++first;
    } else {
      --last;
    }
  }
  std::vector<std::string> words;
  for (; first < last; ++first) {
    words.push_back(std::to_string(values[first]));
  }
  return join_or(words);
}

std::string multiples_near(std::int64_t wanted, std::int64_t unit, std::int64_t least) {
  const std::int64_t below = wanted / unit * unit;
  const std::int64_t above = below + unit;
  return below < least ? std::to_string(std::max(above, least))
                       : fmt::format("{} or {}", below, above);
}

}  // namespace shardsim
