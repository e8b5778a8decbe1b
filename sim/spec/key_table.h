// One row per key of a file format: what may stand there, what holds when it does not, and what
// it means. Reading, "did you mean", JSON Schemas and the list of defaults all come from it.
//
// Keys are dotted; an object has a row of its own, before those of its members. The struct members
// are bound in Key<T>::store (key_reader.h). Example row:
//   {"parallel.tp", integer(1, kMaxGpus), by_default("1"), "ranks that share each layer's weights"}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/format.h"
#include "spec/quantity.h"

namespace shardsim {

struct KeyInfo;

struct ValueType {
  enum class Kind : std::uint8_t {
    integer,
    number,
    boolean,
    string,
    choice,
    quantity,
    integers,   // list of integers
    choices,    // list of choices
    objects,    // list of objects with the keys of `element`
    object,     // its members have rows of their own
    reference,  // the name of a file, a path or an object of another format
    any,        // known, but not read by this version
  };
  Kind kind = Kind::any;
  std::int64_t min = 0;  // integer, integers
  std::int64_t max = 0;
  double low = 0;  // number; quantity in base units
  double high = 0;
  bool above_low = false;   // low itself is excluded
  bool below_high = false;  // high itself is excluded
  bool filled = false;      // string: more than blanks
  Dimension dimension = Dimension::bytes;
  std::vector<std::string> choices;
  std::vector<KeyInfo> element;
  Format format = Format::model;
};

// What holds when a key is not stated.
struct Fallback {
  enum class Kind : std::uint8_t {
    required,  // an error, if the object around it is there
    value,     // `text` is the JSON of the default
    derived,   // `text` says in words what it follows from; null means "not stated"
    absent,    // an object or list without which a feature is not there
  };
  Kind kind = Kind::required;
  std::string text;
};

struct KeyInfo {
  std::string key;
  ValueType type;
  Fallback fallback;
  std::string help;  // one sentence without a full stop
};

[[nodiscard]] ValueType integer(std::int64_t min, std::int64_t max);
[[nodiscard]] ValueType number(double low, double high);        // low <= x <= high
[[nodiscard]] ValueType number_above(double low, double high);  // low < x <= high
[[nodiscard]] ValueType number_below(double low, double high);  // low <= x < high
[[nodiscard]] ValueType fraction();  // of a rate: 1e-6 to 1, so that no time becomes infinite
[[nodiscard]] ValueType boolean();
[[nodiscard]] ValueType text();
[[nodiscard]] ValueType filled_text();  // neither empty nor blank
[[nodiscard]] ValueType choice(std::vector<std::string> choices);
[[nodiscard]] ValueType quantity(Dimension dimension, double low, double high);
[[nodiscard]] ValueType quantity_above(Dimension dimension, double low, double high);
[[nodiscard]] ValueType list_of(ValueType element);  // integers or choices
[[nodiscard]] ValueType list_of_objects(std::vector<KeyInfo> element);
[[nodiscard]] ValueType object();
[[nodiscard]] ValueType reference(Format format);
[[nodiscard]] ValueType any_value();

[[nodiscard]] Fallback required();
[[nodiscard]] Fallback by_default(std::string json);
[[nodiscard]] Fallback derived(std::string words);
[[nodiscard]] Fallback absent();

// The rows of a format, those of nested formats not among them.
[[nodiscard]] const std::vector<KeyInfo>& key_infos(Format format);

// "an integer from 1 to 10,000", "a bandwidth with its unit, such as "400 Gb/s" ..."
[[nodiscard]] std::string describe(const ValueType& type);
// The same of the values that are in range: "from 0 s to 1 s".
[[nodiscard]] std::string describe_range(const ValueType& type);
// The name that was probably meant: an exact beginning of a known name, else the nearest; or "".
[[nodiscard]] std::string meant_name(const std::string& word,
                                     const std::vector<std::string>& known);

[[nodiscard]] std::string_view format_name(Format format);  // "run", "model", ...

}  // namespace shardsim
