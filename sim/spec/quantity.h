// Unit strings -> numbers in SI base units: "400 Gb/s" -> 5e10 (bytes per second).
//
// k M G T P are powers of 1000, Ki Mi Gi Ti Pi of 1024; b is a bit, B a byte; time is s ms us ns.
// The blank between number and unit may be left out; "Gbps" is read as "Gb/s". Counts of tokens
// take k M G T, and B for a billion: "15 T", "300 B", or are plain integers.
// Errors: what is wrong and what would be right, in words; nothing is guessed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardsim {

enum class Dimension : std::uint8_t { bytes, bandwidth, time, flop_rate, power, money, tokens };

struct QuantityReading {
  double value = 0;   // base units: B, B/s, s, FLOP/s, W, USD, tokens
  std::string wrong;  // empty when the text was read
  std::string right;
};

[[nodiscard]] QuantityReading read_quantity(std::string_view text, Dimension dimension);

// "a bandwidth with its unit, such as "400 Gb/s" (b is bit, B is byte)"
[[nodiscard]] std::string quantity_form(Dimension dimension);
[[nodiscard]] std::string_view dimension_name(Dimension dimension);  // "a bandwidth"
// A value in base units as a person would write it: "50 GB/s".
[[nodiscard]] std::string quantity_text(double value, Dimension dimension);
// Regular expression (ECMA 262) of the strings that are read, for the schemas.
[[nodiscard]] std::string quantity_pattern(Dimension dimension);

}  // namespace shardsim
