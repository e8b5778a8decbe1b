// One value against its row: kind, range, unit, choice.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spec/key_reader.h"

namespace shardsim {
namespace {

// Doubles hold every integer up to here exactly.
constexpr double kExactIntegers = 9007199254740992.0;

void say_wrong(Parsed& out, std::string what, std::string right) {
  add_problem(*out.log, *out.json, std::move(what), std::move(right));
}

void say_wrong_kind(Parsed& out, const JsonValue& json, const ValueType& type) {
  const bool plain = type.kind == ValueType::Kind::integer ||
                     type.kind == ValueType::Kind::number || type.kind == ValueType::Kind::boolean;
  const bool quoted = json.kind == JsonValue::Kind::string && plain;
  const bool null = json.kind == JsonValue::Kind::null;
  add_problem(*out.log, json,
              null ? "is null" : fmt::format("{} is {}", brief_json(json), kind_name(json.kind)),
              fmt::format("write {}{}", describe(type), quoted ? ", without quotes" : ""));
}

// Integers may be written 1e9: people do (DeepSpeed configurations).
bool read_integer(const JsonValue& json, const ValueType& type, Parsed& out, std::int64_t& value) {
  if (json.kind != JsonValue::Kind::integer && json.kind != JsonValue::Kind::number) {
    say_wrong_kind(out, json, type);
    return false;
  }
  if (json.kind == JsonValue::Kind::number) {
    const bool whole = std::floor(json.number) == json.number;
    if (!whole) {
      add_problem(*out.log, json, brief_json(json) + " is not a whole number",
                  "use " + describe(type));
      return false;
    }
    if (std::abs(json.number) > kExactIntegers) {
      add_problem(*out.log, json, brief_json(json) + " is out of range", "use " + describe(type));
      return false;
    }
  }
  value =
      json.kind == JsonValue::Kind::integer ? json.integer : static_cast<std::int64_t>(json.number);
  if (value < type.min || value > type.max) {
    add_problem(*out.log, json, brief_json(json) + " is out of range", "use " + describe(type));
    return false;
  }
  return true;
}

bool in_range(double value, const ValueType& type) {
  return (type.above_low ? value > type.low : value >= type.low) &&
         (type.below_high ? value < type.high : value <= type.high);
}

bool read_number(const JsonValue& json, const ValueType& type, Parsed& out) {
  if (json.kind != JsonValue::Kind::integer && json.kind != JsonValue::Kind::number) {
    say_wrong_kind(out, json, type);
    return false;
  }
  out.number =
      json.kind == JsonValue::Kind::integer ? static_cast<double>(json.integer) : json.number;
  if (!in_range(out.number, type)) {
    say_wrong(out, brief_json(json) + " is out of range", "use " + describe(type));
    return false;
  }
  return true;
}

bool read_quantity_value(const JsonValue& json, const ValueType& type, Parsed& out) {
  const bool is_number =
      json.kind == JsonValue::Kind::integer || json.kind == JsonValue::Kind::number;
  QuantityReading reading;
  if (json.kind == JsonValue::Kind::string) {
    reading = read_quantity(json.text, type.dimension);
  } else if (is_number && type.dimension == Dimension::tokens) {
    reading.value =
        json.kind == JsonValue::Kind::integer ? static_cast<double>(json.integer) : json.number;
  } else if (is_number) {
    say_wrong(out, brief_json(json) + " is a bare number",
              "write " + quantity_form(type.dimension));
    return false;
  } else {
    say_wrong_kind(out, json, type);
    return false;
  }
  if (!reading.wrong.empty()) {
    say_wrong(out, reading.wrong, reading.right);
    return false;
  }
  if (!in_range(reading.value, type)) {
    say_wrong(out, brief_json(json) + " is out of range", "use a value " + describe_range(type));
    return false;
  }
  const bool counted = type.dimension == Dimension::bytes || type.dimension == Dimension::tokens;
  out.number = reading.value;
  out.integer = counted ? std::llround(reading.value) : 0;
  // Decimal fractions such as 0.3 GB are whole up to rounding; half a byte is not.
  if (counted && std::abs(reading.value - static_cast<double>(out.integer)) >
                     1e-12 * std::abs(reading.value)) {
    say_wrong(out,
              fmt::format("{} is no whole number of {}", brief_json(json),
                          type.dimension == Dimension::bytes ? "bytes" : "tokens"),
              "use a whole number");
    return false;
  }
  return true;
}

bool read_choice(const JsonValue& json, const ValueType& type, Parsed& out, int& index) {
  if (json.kind != JsonValue::Kind::string) {
    say_wrong_kind(out, json, type);
    return false;
  }
  const auto at = std::find(type.choices.begin(), type.choices.end(), json.text);
  if (at != type.choices.end()) {
    index = static_cast<int>(at - type.choices.begin());
    return true;
  }
  const std::string near = meant_name(json.text, type.choices);
  ValueType one = type;
  one.kind = ValueType::Kind::choice;
  add_problem(
      *out.log, json, brief_json(json) + " is not known",
      (near.empty() ? "use " : fmt::format("did you mean {}? use ", quote(near))) + describe(one));
  return false;
}

bool read_items(const JsonValue& json, const ValueType& type, Parsed& out) {
  if (json.kind != JsonValue::Kind::array) {
    say_wrong_kind(out, json, type);
    return false;
  }
  bool good = true;
  for (const JsonValue& item : json.items) {
    if (type.kind == ValueType::Kind::integers) {
      ValueType one = type;
      one.kind = ValueType::Kind::integer;
      good = read_integer(item, one, out, out.integers.emplace_back()) && good;
    } else if (type.kind == ValueType::Kind::choices) {
      good = read_choice(item, type, out, out.choices.emplace_back()) && good;
    } else if (item.kind != JsonValue::Kind::object) {
      say_wrong_kind(out, item, object());
      good = false;
    }
  }
  return good;
}

bool read_text(const JsonValue& json, const ValueType& type, Parsed& out) {
  if (json.kind != JsonValue::Kind::string) {
    say_wrong_kind(out, json, type);
    return false;
  }
  if (type.filled && json.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    say_wrong(out, json.text.empty() ? "is empty" : "is blank", "write a string that is not empty");
    return false;
  }
  out.text = json.text;
  return true;
}

bool read_plain(const JsonValue& json, const ValueType& type, JsonValue::Kind kind, Parsed& out) {
  if (json.kind != kind) {
    say_wrong_kind(out, json, type);
    return false;
  }
  return true;
}

}  // namespace

bool read_value(const JsonValue& json, const ValueType& type, Parsed& out) {
  switch (type.kind) {
    case ValueType::Kind::integer:
      return read_integer(json, type, out, out.integer);
    case ValueType::Kind::number:
      return read_number(json, type, out);
    case ValueType::Kind::boolean:
      out.boolean = json.boolean;
      return read_plain(json, type, JsonValue::Kind::boolean, out);
    case ValueType::Kind::string:
      return read_text(json, type, out);
    case ValueType::Kind::choice:
      if (read_choice(json, type, out, out.choice)) {
        out.text = json.text;
        return true;
      }
      return false;
    case ValueType::Kind::quantity:
      return read_quantity_value(json, type, out);
    case ValueType::Kind::integers:
    case ValueType::Kind::choices:
    case ValueType::Kind::objects:
      return read_items(json, type, out);
    case ValueType::Kind::object:
    case ValueType::Kind::reference:
      return read_plain(json, type, JsonValue::Kind::object, out);
    case ValueType::Kind::any:
      break;
  }
  return true;
}

}  // namespace shardsim
