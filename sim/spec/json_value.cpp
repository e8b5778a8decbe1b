#include "spec/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ids.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kBriefLength = 60;

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_break(std::string& out, int indent) {
  if (indent >= 0) {
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * 2, ' ');
  }
}

bool is_flat(const JsonValue& value) {
  return std::none_of(value.items.begin(), value.items.end(), [](const JsonValue& item) {
    return item.kind == JsonValue::Kind::array || item.kind == JsonValue::Kind::object;
  });
}

// indent < 0: on one line. Arrays of plain values stay on one line in any case.
void append_json(std::string& out, const JsonValue& value, int indent) {
  switch (value.kind) {
    case JsonValue::Kind::null:
      out += "null";
      return;
    case JsonValue::Kind::boolean:
      out += value.boolean ? "true" : "false";
      return;
    case JsonValue::Kind::integer:
      out += value.text.empty() ? std::to_string(value.integer) : value.text;
      return;
    case JsonValue::Kind::number:
      out += value.text.empty() ? fmt::format("{}", value.number) : value.text;
      return;
    case JsonValue::Kind::string:
      append_quoted(out, value.text);
      return;
    case JsonValue::Kind::array:
    case JsonValue::Kind::object:
      break;
  }
  const bool object = value.kind == JsonValue::Kind::object;
  const bool one_line = indent < 0 || value.items.empty() || (!object && is_flat(value));
  const int inner = one_line ? -1 : indent + 1;
  out += object ? '{' : '[';
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) {
      out += one_line ? ", " : ",";
    }
    append_break(out, inner);
    if (object) {
      append_quoted(out, value.keys[i]);
      out += ": ";
    }
    append_json(out, value.items[i], inner);
  }
  if (!one_line) {
    append_break(out, indent);
  }
  out += object ? '}' : ']';
}

// Cuts long text at a character boundary of UTF-8.
std::string shortened(std::string text, std::string_view end) {
  if (text.size() <= kBriefLength) {
    return text;
  }
  std::size_t length = kBriefLength;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) {
    --length;
  }
  text.resize(length);
  text += end;
  return text;
}

JsonValue of_kind(JsonValue::Kind kind) {
  JsonValue value;
  value.kind = kind;
  return value;
}

}  // namespace

const JsonValue* find(const JsonValue& value, std::string_view key) {
  const auto at = std::find(value.keys.begin(), value.keys.end(), key);
  return at == value.keys.end() ? nullptr
                                : &value.items[static_cast<std::size_t>(at - value.keys.begin())];
}

JsonValue* find(JsonValue& value, std::string_view key) {
  return const_cast<JsonValue*>(find(static_cast<const JsonValue&>(value), key));
}

const JsonValue* find_path(const JsonValue& value, std::string_view dotted) {
  const JsonValue* at = &value;
  for (const std::string& key : split(dotted, '.')) {
    if (at->kind == JsonValue::Kind::array) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
      const bool whole = error == std::errc{} && end == key.data() + key.size();
      at = whole && index < at->items.size() ? &at->items[index] : nullptr;
    } else {
      at = find(*at, key);
    }
    if (at == nullptr) {
      return nullptr;
    }
  }
  return at;
}

void remove_key(JsonValue& object, std::string_view key) {
  const auto at = std::find(object.keys.begin(), object.keys.end(), key);
  if (at != object.keys.end()) {
    object.items.erase(object.items.begin() + (at - object.keys.begin()));
    object.keys.erase(at);
  }
}

std::string child_pointer(const std::string& pointer, std::string_view key) {
  std::string result = pointer + "/";
  for (const char c : key) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));  // keeps a message on one line
    } else {
      result += c;
    }
  }
  return result;
}

std::string to_json(const JsonValue& value) {
  std::string text;
  append_json(text, value, -1);
  return text;
}

std::string brief_json(const JsonValue& value) {
  if (value.kind == JsonValue::Kind::string) {
    return brief_quote(value.text);
  }
  return shortened(to_json(value), "...");
}

std::string pretty_json(const JsonValue& value) {
  std::string text;
  append_json(text, value, 0);
  return text + "\n";
}

std::string quote(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

std::string brief_quote(std::string_view text) {
  return shortened(quote(text.substr(0, 4 * kBriefLength)), "...\"");
}

std::string_view kind_name(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::boolean:
      return "a boolean";
    case JsonValue::Kind::integer:
    case JsonValue::Kind::number:
      return "a number";
    case JsonValue::Kind::string:
      return "a string";
    case JsonValue::Kind::array:
      return "a list";
    case JsonValue::Kind::object:
      break;
  }
  return "an object";
}

JsonValue json_string(std::string_view text) {
  JsonValue value = of_kind(JsonValue::Kind::string);
  value.text = text;
  return value;
}

JsonValue json_integer(std::int64_t number) {
  JsonValue value = of_kind(JsonValue::Kind::integer);
  value.integer = number;
  return value;
}

JsonValue json_number(double number) {
  JsonValue value = of_kind(JsonValue::Kind::number);
  value.number = number;
  return value;
}

JsonValue json_boolean(bool truth) {
  JsonValue value = of_kind(JsonValue::Kind::boolean);
  value.boolean = truth;
  return value;
}

JsonValue json_array(std::vector<JsonValue> items) {
  JsonValue value = of_kind(JsonValue::Kind::array);
  value.items = std::move(items);
  return value;
}

JsonValue json_object() { return of_kind(JsonValue::Kind::object); }

void put(JsonValue& object, std::string_view key, JsonValue value) {
  object.keys.emplace_back(key);
  object.items.push_back(std::move(value));
}

}  // namespace shardsim
