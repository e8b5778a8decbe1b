#include "spec/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/ids.h"
#include "base/text.h"
#include "spec/json_parse.h"
#include "spec/key_table.h"
#include "spec/sources.h"

namespace shardsim {
namespace {

// The way of an override so far: `place` is a pointer in the run, whatever file holds the value.
struct Way {
  std::string place;
  std::vector<Problem>& problems;
};

// Follows or makes the member of `at` that `key` names; nullptr and a problem when it cannot be.
JsonValue* step(JsonValue& at, const std::string& key, const std::string& next, Way& way) {
  std::vector<Problem>& problems = way.problems;
  const std::string before = way.place;
  way.place = child_pointer(before, key);
  if (at.kind == JsonValue::Kind::array) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    const bool whole = error == std::errc{} && end == key.data() + key.size();
    if (!whole || index > at.items.size()) {
      problems.push_back({kOverrideFile, way.place,
                          fmt::format("{} is no place in a list of {}", brief_quote(key),
                                      counted(count(at.items), "entry")),
                          at.items.empty()
                              ? "use 0, which appends"
                              : fmt::format("use 0 to {0}; {0} appends", at.items.size())});
      return nullptr;
    }
    if (index < at.items.size()) {
      return &at.items[index];
    }
    at.items.emplace_back();
  } else if (at.kind == JsonValue::Kind::object) {
    if (JsonValue* member = find(at, key)) {
      return member;
    }
    at.keys.push_back(key);
    at.items.emplace_back();
  } else {
    problems.push_back({kOverrideFile, before,
                        at.kind == JsonValue::Kind::null
                            ? fmt::format("is null, it has no {}", brief_quote(key))
                            : fmt::format("{} is {}, it has no {}", brief_json(at),
                                          kind_name(at.kind), brief_quote(key)),
                        "override the whole value, or correct the key"});
    return nullptr;
  }
  // What is made on the way belongs to the file: only the value is the override's.
  JsonValue& made = at.items.back();
  made = next == "0" ? json_array() : json_object();
  made.file = at.file;
  made.pointer = child_pointer(at.pointer, key);
  return &made;
}

JsonValue override_value(const std::string& text, const std::string& pointer,
                         std::vector<Problem>& problems) {
  std::vector<Problem> found;
  std::optional<JsonValue> parsed = parse_json(text, kOverrideFile, found, pointer);
  if (parsed) {
    problems.insert(problems.end(), found.begin(), found.end());  // duplicate keys
    return *std::move(parsed);
  }
  JsonValue value = json_string(text);
  value.file = kOverrideFile;
  value.pointer = pointer;
  value.line = 1;
  return value;
}

// The format of the file that a key of `format` stands for.
std::optional<Format> reference_at(Format format, const std::string& key) {
  for (const KeyInfo& info : key_infos(format)) {
    if (info.key == key && info.type.kind == ValueType::Kind::reference) {
      return info.type.format;
    }
  }
  return std::nullopt;
}

}  // namespace

void apply_override(JsonValue& root, Format format, const std::string& text,
                    std::vector<Problem>& problems) {
  const std::size_t equals = text.find('=');
  const std::string path = text.substr(0, equals);
  const std::vector<std::string> keys = split(path, '.');
  const bool has_empty =
      std::any_of(keys.begin(), keys.end(), [](const std::string& key) { return key.empty(); });
  if (equals == std::string::npos || has_empty || keys.size() > kMaxDepth / 2) {
    problems.push_back({kOverrideFile, "", fmt::format("{} is no override", brief_quote(text)),
                        "write key.path=value, such as parallel.tp=8"});
    return;
  }
  JsonValue* at = &root;
  Way way{"", problems};
  std::optional<Format> inside = format;  // of the file whose top level `at` is
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
    at = step(*at, keys[i], keys[i + 1], way);
    if (at == nullptr) {
      return;
    }
    inside = inside ? reference_at(*inside, keys[i]) : std::nullopt;
    if (inside) {
      resolve_reference(*at, *inside, problems);
      if (at->kind == JsonValue::Kind::null) {
        return;  // said already
      }
    }
  }
  at = step(*at, keys.back(), "", way);
  if (at != nullptr) {
    *at = override_value(text.substr(equals + 1), way.place, problems);
  }
}

}  // namespace shardsim
