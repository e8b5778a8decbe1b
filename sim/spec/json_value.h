// A JSON document as a tree in which every value knows where it was written.
//
// The tree is what overrides are applied to and what the key tables read; messages take the file
// and the pointer from the value that is wrong, so that an error in a model that a run names points
// into the model's file, and one that comes from an override says `--set`.
// Invariants: an object has as many keys as items and no key twice; depth <= kMaxDepth.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

inline constexpr int kMaxDepth = 64;  // nested objects and arrays; ours need 6

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, integer, number, string, array, object };
  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;       // Kind::integer
  double number = 0;              // Kind::number: fractions, exponents, integers beyond 64 bits
  std::string text;               // a string's value; a number as written
  std::vector<std::string> keys;  // of an object, parallel to items
  std::vector<JsonValue> items;   // of an array or object
  std::string file;               // path, "-" or "--set"
  std::string pointer;            // JSON pointer inside the file, "" at the top
  int line = 0;                   // 1-based
  bool unreadable = false;        // stands for a file that could not be read; a problem says so
};

// The member of an object, or nullptr when there is none or `value` is no object.
[[nodiscard]] const JsonValue* find(const JsonValue& value, std::string_view key);
[[nodiscard]] JsonValue* find(JsonValue& value, std::string_view key);
// Follows dotted keys ("parallel.tp"; array items by index); nullptr when the path ends early.
[[nodiscard]] const JsonValue* find_path(const JsonValue& value, std::string_view dotted);
// Removes a member if it is there.
void remove_key(JsonValue& object, std::string_view key);

// Pointer of a member or array item: escapes ~ and / as RFC 6901 asks.
[[nodiscard]] std::string child_pointer(const std::string& pointer, std::string_view key);

// Compact JSON text; `brief` cuts it to about 60 characters for messages.
[[nodiscard]] std::string to_json(const JsonValue& value);
[[nodiscard]] std::string brief_json(const JsonValue& value);
// Indented JSON text with a final newline.
[[nodiscard]] std::string pretty_json(const JsonValue& value);
// A quoted JSON string.
[[nodiscard]] std::string quote(std::string_view text);
[[nodiscard]] std::string brief_quote(std::string_view text);
// "a string", "an object", ...
[[nodiscard]] std::string_view kind_name(JsonValue::Kind kind);

// Building blocks for writers of JSON (the schemas).
[[nodiscard]] JsonValue json_string(std::string_view text);
[[nodiscard]] JsonValue json_integer(std::int64_t value);
[[nodiscard]] JsonValue json_number(double value);
[[nodiscard]] JsonValue json_boolean(bool value);
[[nodiscard]] JsonValue json_array(std::vector<JsonValue> items = {});
[[nodiscard]] JsonValue json_object();
void put(JsonValue& object, std::string_view key, JsonValue value);  // REQUIRES key is new

}  // namespace shardsim
