#include "spec/key_table.h"

#include <fmt/format.h>

#include <utility>

#include "base/errors.h"
#include "base/text.h"
#include "spec/json_value.h"

namespace shardsim {
namespace {

ValueType of_kind(ValueType::Kind kind) {
  ValueType type;
  type.kind = kind;
  return type;
}

std::string number_range(const ValueType& type) {
  if (type.below_high) {
    return fmt::format("from {:g} and below {:g}", type.low, type.high);
  }
  return fmt::format("{} {:g} {} {:g}", type.above_low ? "above" : "from", type.low,
                     type.above_low ? "and at most" : "to", type.high);
}

std::string quantity_range(const ValueType& type) {
  return fmt::format("{} {} {} {}", type.above_low ? "above" : "from",
                     quantity_text(type.low, type.dimension), type.above_low ? "and at most" : "to",
                     quantity_text(type.high, type.dimension));
}

}  // namespace

ValueType integer(std::int64_t min, std::int64_t max) {
  ValueType type = of_kind(ValueType::Kind::integer);
  type.min = min;
  type.max = max;
  return type;
}

ValueType number(double low, double high) {
  ValueType type = of_kind(ValueType::Kind::number);
  type.low = low;
  type.high = high;
  return type;
}

ValueType number_above(double low, double high) {
  ValueType type = number(low, high);
  type.above_low = true;
  return type;
}

ValueType number_below(double low, double high) {
  ValueType type = number(low, high);
  type.below_high = true;
  return type;
}

ValueType fraction() { return number(1e-6, 1); }

ValueType boolean() { return of_kind(ValueType::Kind::boolean); }
ValueType text() { return of_kind(ValueType::Kind::string); }

ValueType filled_text() {
  ValueType type = text();
  type.filled = true;
  return type;
}

ValueType object() { return of_kind(ValueType::Kind::object); }
ValueType any_value() { return of_kind(ValueType::Kind::any); }

ValueType choice(std::vector<std::string> choices) {
  ValueType type = of_kind(ValueType::Kind::choice);
  type.choices = std::move(choices);
  return type;
}

ValueType quantity(Dimension dimension, double low, double high) {
  ValueType type = of_kind(ValueType::Kind::quantity);
  type.dimension = dimension;
  type.low = low;
  type.high = high;
  return type;
}

ValueType quantity_above(Dimension dimension, double low, double high) {
  ValueType type = quantity(dimension, low, high);
  type.above_low = true;
  return type;
}

ValueType list_of(ValueType element) {
  SHARDSIM_CHECK(
      element.kind == ValueType::Kind::integer || element.kind == ValueType::Kind::choice,
      "lists are of integers or choices");
  element.kind = element.kind == ValueType::Kind::integer ? ValueType::Kind::integers
                                                          : ValueType::Kind::choices;
  return element;
}

ValueType list_of_objects(std::vector<KeyInfo> element) {
  ValueType type = of_kind(ValueType::Kind::objects);
  type.element = std::move(element);
  return type;
}

ValueType reference(Format format) {
  ValueType type = of_kind(ValueType::Kind::reference);
  type.format = format;
  return type;
}

Fallback required() { return {Fallback::Kind::required, ""}; }
Fallback by_default(std::string json) { return {Fallback::Kind::value, std::move(json)}; }
Fallback derived(std::string words) { return {Fallback::Kind::derived, std::move(words)}; }
Fallback absent() { return {Fallback::Kind::absent, ""}; }

std::string describe(const ValueType& type) {
  switch (type.kind) {
    case ValueType::Kind::integer:
      return fmt::format("an integer from {} to {}", format_count(type.min),
                         format_count(type.max));
    case ValueType::Kind::number:
      return "a number " + number_range(type);
    case ValueType::Kind::boolean:
      return "true or false";
    case ValueType::Kind::string:
      return "a string";
    case ValueType::Kind::choice: {
      std::vector<std::string> quoted;
      for (const std::string& word : type.choices) {
        quoted.push_back(quote(word));
      }
      return join_or(quoted);
    }
    case ValueType::Kind::quantity:
      return quantity_form(type.dimension);
    case ValueType::Kind::integers:
      return fmt::format("a list of integers from {} to {}", format_count(type.min),
                         format_count(type.max));
    case ValueType::Kind::choices:
      return "a list of " + join_or(type.choices);
    case ValueType::Kind::objects:
      return "a list of objects";
    case ValueType::Kind::object:
      return "an object { ... }";
    case ValueType::Kind::reference:
      return fmt::format("the name of a {0}, the path of a {0} file, or an object",
                         format_name(type.format));
    case ValueType::Kind::any:
      break;
  }
  return "nothing";
}

// Ranges are not part of a quantity's form: they are said when they are missed.
std::string describe_range(const ValueType& type) {
  return type.kind == ValueType::Kind::quantity ? quantity_range(type) : describe(type);
}

std::string meant_name(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t kLeast = 3;  // shorter beginnings fit too much
  constexpr std::size_t kMost = 64;  // longer words are no names
  if (word.size() > kMost) {
    return "";
  }
  for (const std::string& name : known) {
    if (word.size() >= kLeast && name.compare(0, word.size(), word) == 0) {
      return name;
    }
  }
  return nearest_name(word, known);
}

std::string_view format_name(Format format) {
  switch (format) {
    case Format::run:
      return "run";
    case Format::model:
      return "model";
    case Format::cluster:
      return "cluster";
    case Format::gpu:
      return "gpu";
    case Format::measured:
      return "measured";
    case Format::stack:
      break;
  }
  return "stack";
}

}  // namespace shardsim
