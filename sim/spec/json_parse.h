// Text -> JsonValue, the only place that knows the JSON library.
//
// Strict JSON in UTF-8: no comments, no trailing commas, no NaN or Infinity, nothing after the
// value. Errors are problems with `file:line:column`; a key that stands twice is named with both
// lines. Refused as too large: files over 64 MiB, more than 64 levels, trees over 256 MiB.
//   parse_json("{\"tp\": 8,\n \"tp\": 4}", "a.json")
//     -> a.json:/tp: duplicate key "tp" on line 2 (first on line 1); keep one of them
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "spec/json_value.h"

namespace shardsim {

inline constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

// The tree of `text`, or nothing when it is not JSON; the problems are appended either way.
// `pointer` is where the text stands in its file ("" for a file, "/parallel/tp" for an override).
[[nodiscard]] std::optional<JsonValue> parse_json(std::string_view text, const std::string& file,
                                                  std::vector<Problem>& problems,
                                                  const std::string& pointer = "");

}  // namespace shardsim
