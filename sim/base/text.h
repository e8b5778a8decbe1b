// Text shown to people: scaled numbers with units, lists, nearest names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace shardsim {

[[nodiscard]] std::string format_seconds(Seconds time);      // "18.13 s", "431.2 ms", "12.0 us"
[[nodiscard]] std::string format_gib(Bytes amount);          // "45.56 GiB" (1 GiB = 1024^3 B)
[[nodiscard]] std::string format_bytes(Bytes amount);        // decimal: "134.2 MB", "141.1 GB"
[[nodiscard]] std::string format_rate(BytesPerSecond rate);  // decimal: "47.0 GB/s"
[[nodiscard]] std::string format_flops(FlopPerSecond rate);  // "412.3 TFLOP/s"
[[nodiscard]] std::string format_count(std::int64_t value);  // "70,553,706,496"
[[nodiscard]] std::string format_percent(double fraction);   // "41.7 %"
[[nodiscard]] std::string format_fixed(double value, int digits);

// "1 layer", "2 layers", "1 entry", "2 entries", "1,000 micro batches"
[[nodiscard]] std::string counted(std::int64_t count, std::string_view noun);
[[nodiscard]] std::string_view is_or_are(std::int64_t count);  // what follows so many of a thing
[[nodiscard]] std::string_view do_not(std::int64_t count);     // "does not", "do not"
[[nodiscard]] std::string range_text(std::int64_t low, std::int64_t high);  // "0 to 7", "0"

[[nodiscard]] std::string join(const std::vector<std::string>& words, std::string_view separator);
[[nodiscard]] std::string join_or(const std::vector<std::string>& words);  // "a, b or c"
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

// The candidate with the smallest edit distance, or "" when none is near enough to be meant.
[[nodiscard]] std::string nearest_name(std::string_view word,
                                       const std::vector<std::string>& candidates);

}  // namespace shardsim
