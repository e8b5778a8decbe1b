#include "spec/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "spec/json_value.h"

namespace shardsim {
namespace {

struct DimensionRow {
  Dimension dimension;
  const char* name;
  const char* example;
  const char* note;
  const char* unit;     // base unit, for text
  const char* pattern;  // of the unit
};

constexpr std::array<DimensionRow, 7> kDimensions{{
    {Dimension::bytes, "an amount of bytes", "80 GiB", " (k M G T: 1000, Ki Mi Gi Ti: 1024)", "B",
     "([kMGTP]|[KMGTP]i)?[Bb]"},
    {Dimension::bandwidth, "a bandwidth", "400 Gb/s", " (b is bit, B is byte)", "B/s",
     "([kMGTP]|[KMGTP]i)?[Bb](/s|ps)"},
    {Dimension::time, "a time", "2 us", "", "s", "[mun]?s"},
    {Dimension::flop_rate, "a rate of FLOP", "989 TFLOP/s", "", "FLOP/s", "[kMGTP]?FLOP/s"},
    {Dimension::power, "a power", "700 W", "", "W", "[kM]?W"},
    {Dimension::money, "an amount of money", "2.00 USD", "", "USD", "USD"},
    {Dimension::tokens, "a number of tokens", "15 T", "", "", "([kMGTB]?|[kMGTB]? *tokens)"},
}};

const DimensionRow& row_of(Dimension dimension) {
  return kDimensions[static_cast<std::size_t>(dimension)];
}

struct Prefix {
  std::string_view text;
  double factor;
};

constexpr std::array<Prefix, 11> kPrefixes{{{"Ki", 0x1p10},
                                            {"Mi", 0x1p20},
                                            {"Gi", 0x1p30},
                                            {"Ti", 0x1p40},
                                            {"Pi", 0x1p50},
                                            {"k", 1e3},
                                            {"M", 1e6},
                                            {"G", 1e9},
                                            {"T", 1e12},
                                            {"P", 1e15},
                                            {"", 1}}};

struct Unit {
  Dimension dimension;
  double factor;   // multiply
  double divisor;  // then divide: keeps decimal values exact
};

std::optional<Unit> plain_unit(std::string_view unit) {
  if (unit == "B" || unit == "b") {
    return Unit{Dimension::bytes, 1, unit == "B" ? 1.0 : 8.0};
  }
  if (unit == "B/s" || unit == "Bps" || unit == "b/s" || unit == "bps") {
    return Unit{Dimension::bandwidth, 1, unit[0] == 'B' ? 1.0 : 8.0};
  }
  if (unit == "FLOP/s") {
    return Unit{Dimension::flop_rate, 1, 1};
  }
  if (unit == "W") {
    return Unit{Dimension::power, 1, 1};
  }
  return std::nullopt;
}

std::optional<Unit> unit_of(std::string_view unit) {
  if (unit == "s") return Unit{Dimension::time, 1, 1};
  if (unit == "ms") return Unit{Dimension::time, 1, 1e3};
  if (unit == "us") return Unit{Dimension::time, 1, 1e6};
  if (unit == "ns") return Unit{Dimension::time, 1, 1e9};
  if (unit == "USD") return Unit{Dimension::money, 1, 1};
  for (const Prefix& prefix : kPrefixes) {
    if (unit.substr(0, prefix.text.size()) != prefix.text) {
      continue;
    }
    std::optional<Unit> found = plain_unit(unit.substr(prefix.text.size()));
    const bool binary = prefix.text.size() == 2;
    if (found && (!binary || found->dimension <= Dimension::bandwidth)) {
      found->factor = prefix.factor;
      return found;
    }
  }
  return std::nullopt;
}

std::optional<Unit> token_unit(std::string_view unit) {
  constexpr std::string_view kWord = "tokens";
  if (unit.size() >= kWord.size() && unit.substr(unit.size() - kWord.size()) == kWord) {
    unit.remove_suffix(kWord.size());
    while (!unit.empty() && unit.back() == ' ') {
      unit.remove_suffix(1);
    }
  }
  if (unit == "B") return Unit{Dimension::tokens, 1e9, 1};
  for (const Prefix& prefix : kPrefixes) {
    if (prefix.text.size() < 2 && unit == prefix.text && unit != "P") {
      return Unit{Dimension::tokens, prefix.factor, 1};
    }
  }
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

QuantityReading wrong(std::string what, Dimension dimension) {
  return {0, std::move(what), "write " + quantity_form(dimension)};
}

}  // namespace

QuantityReading read_quantity(std::string_view text, Dimension dimension) {
  const std::string_view whole = trimmed(text);
  const std::string shown = brief_quote(text);
  double number = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), number);
  if (error == std::errc::result_out_of_range) {
    return wrong(shown + " is out of range", dimension);
  }
  if (error != std::errc{} || !std::isfinite(number)) {
    return wrong(shown + " does not begin with a number", dimension);
  }
  const std::string_view name = trimmed(whole.substr(static_cast<std::size_t>(end - whole.data())));
  const std::optional<Unit> unit =
      dimension == Dimension::tokens ? token_unit(name) : unit_of(name);
  if (!unit && name.empty()) {
    return wrong(shown + " has no unit", dimension);
  }
  if (!unit) {
    return wrong(fmt::format("{} has the unknown unit {}", shown, brief_quote(name)), dimension);
  }
  if (unit->dimension != dimension) {
    return wrong(fmt::format("{} is {}, not {}", shown, dimension_name(unit->dimension),
                             dimension_name(dimension)),
                 dimension);
  }
  const double value = number * unit->factor / unit->divisor;
  if (!std::isfinite(value)) {
    return wrong(shown + " is out of range", dimension);
  }
  return {value, "", ""};
}

std::string quantity_form(Dimension dimension) {
  const DimensionRow& row = row_of(dimension);
  return fmt::format("{} with its unit, such as \"{}\"{}", row.name, row.example, row.note);
}

std::string_view dimension_name(Dimension dimension) { return row_of(dimension).name; }

std::string quantity_text(double value, Dimension dimension) {
  const DimensionRow& row = row_of(dimension);
  if (dimension == Dimension::time) {
    constexpr std::array<Prefix, 4> kTimes{{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
    for (const Prefix& unit : kTimes) {
      if (value >= unit.factor) {
        return fmt::format("{:.6g} {}", value / unit.factor, unit.text);
      }
    }
    return "0 s";
  }
  for (std::size_t i = 10; i-- > 5;) {  // the decimal prefixes, largest first
    const Prefix& prefix = kPrefixes[i];
    const bool fits = dimension != Dimension::money && dimension != Dimension::power;
    if (fits && value >= prefix.factor) {
      const std::string unit = fmt::format("{}{}", prefix.text, row.unit);
      return fmt::format("{:.6g} {}", value / prefix.factor, unit);
    }
  }
  return fmt::format("{:.10g}{}{}", value, *row.unit == '\0' ? "" : " ", row.unit);
}

std::string quantity_pattern(Dimension dimension) {
  return fmt::format("^ *[0-9]*[.]?[0-9]+([eE][+-]?[0-9]+)? *{} *$", row_of(dimension).pattern);
}

}  // namespace shardsim
