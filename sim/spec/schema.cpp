// JSON Schema (draft 7) of a format, written from its key table.
#include "base/errors.h"
#include "spec/json_parse.h"
#include "spec/key_table.h"
#include "spec/reader.h"

namespace shardsim {
namespace {

JsonValue schema_of_keys(const std::vector<KeyInfo>& rows, const std::string& level);

JsonValue of_type(std::string_view type) {
  JsonValue schema = json_object();
  put(schema, "type", json_string(type));
  return schema;
}

JsonValue integer_schema(const ValueType& type) {
  JsonValue schema = of_type("integer");
  put(schema, "minimum", json_integer(type.min));
  put(schema, "maximum", json_integer(type.max));
  return schema;
}

JsonValue choice_schema(const ValueType& type) {
  JsonValue schema = of_type("string");
  JsonValue words = json_array();
  for (const std::string& word : type.choices) {
    words.items.push_back(json_string(word));
  }
  put(schema, "enum", std::move(words));
  return schema;
}

JsonValue any_of(std::vector<JsonValue> schemas) {
  JsonValue schema = json_object();
  put(schema, "anyOf", json_array(std::move(schemas)));
  return schema;
}

JsonValue quantity_schema(const ValueType& type) {
  JsonValue text = of_type("string");
  put(text, "pattern", json_string(quantity_pattern(type.dimension)));
  if (type.dimension != Dimension::tokens) {
    return text;
  }
  JsonValue count = of_type("integer");
  put(count, "minimum", json_integer(1));
  return any_of({std::move(text), std::move(count)});
}

JsonValue list_schema(JsonValue item) {
  JsonValue schema = of_type("array");
  put(schema, "items", std::move(item));
  return schema;
}

JsonValue number_schema(const ValueType& type) {
  JsonValue schema = of_type("number");
  put(schema, type.above_low ? "exclusiveMinimum" : "minimum", json_number(type.low));
  put(schema, type.below_high ? "exclusiveMaximum" : "maximum", json_number(type.high));
  return schema;
}

JsonValue text_schema(const ValueType& type) {
  JsonValue schema = of_type("string");
  if (type.filled) {
    put(schema, "pattern", json_string("[^ \\t\\r\\n]"));
  }
  return schema;
}

JsonValue schema_of(const KeyInfo& row, const std::vector<KeyInfo>& rows) {
  const ValueType& type = row.type;
  switch (type.kind) {
    case ValueType::Kind::integer:
      return integer_schema(type);
    case ValueType::Kind::number:
      return number_schema(type);
    case ValueType::Kind::boolean:
      return of_type("boolean");
    case ValueType::Kind::string:
      return text_schema(type);
    case ValueType::Kind::choice:
      return choice_schema(type);
    case ValueType::Kind::quantity:
      return quantity_schema(type);
    case ValueType::Kind::integers:
      return list_schema(integer_schema(type));
    case ValueType::Kind::choices:
      return list_schema(choice_schema(type));
    case ValueType::Kind::objects:
      return list_schema(schema_of_keys(type.element, ""));
    case ValueType::Kind::object:
      return schema_of_keys(rows, row.key + ".");
    case ValueType::Kind::reference:
      return any_of({of_type("string"), schema_of_keys(key_infos(type.format), "")});
    case ValueType::Kind::any:
      break;
  }
  return json_object();
}

// null stands for "not stated" wherever the reader takes it so.
JsonValue with_null(JsonValue schema) { return any_of({std::move(schema), of_type("null")}); }

JsonValue described(JsonValue schema, const KeyInfo& row) {
  std::string help = row.help;
  if (row.fallback.kind == Fallback::Kind::derived) {
    help += " (default: " + row.fallback.text + ")";
    schema = with_null(std::move(schema));
  } else if (row.fallback.kind == Fallback::Kind::absent) {
    schema = with_null(std::move(schema));
  }
  put(schema, "description", json_string(help));
  if (row.fallback.kind == Fallback::Kind::value) {
    std::vector<Problem> problems;
    std::optional<JsonValue> value = parse_json(row.fallback.text, row.key, problems);
    SHARDSIM_CHECK(value.has_value(), "default of " + row.key + " is no JSON");
    put(schema, "default", *std::move(value));
  }
  return schema;
}

JsonValue schema_of_keys(const std::vector<KeyInfo>& rows, const std::string& level) {
  JsonValue schema = of_type("object");
  JsonValue properties = json_object();
  JsonValue needed = json_array();
  if (level.empty()) {
    put(properties, "$schema", of_type("string"));
  }
  for (const KeyInfo& row : rows) {
    const bool here = row.key.size() > level.size() &&
                      row.key.compare(0, level.size(), level) == 0 &&
                      row.key.find('.', level.size()) == std::string::npos;
    if (!here) {
      continue;
    }
    const std::string name = row.key.substr(level.size());
    put(properties, name, described(schema_of(row, rows), row));
    if (row.fallback.kind == Fallback::Kind::required) {
      needed.items.push_back(json_string(name));
    }
  }
  put(schema, "properties", std::move(properties));
  if (!needed.items.empty()) {
    put(schema, "required", std::move(needed));
  }
  put(schema, "additionalProperties", json_boolean(false));
  return schema;
}

}  // namespace

std::string schema_text(Format format) {
  JsonValue schema = json_object();
  put(schema, "$schema", json_string("http://json-schema.org/draft-07/schema#"));
  put(schema, "title", json_string("shardsim " + std::string(format_name(format)) + " file"));
  JsonValue keys = schema_of_keys(key_infos(format), "");
  if (format == Format::measured) keys = list_schema(std::move(keys));
  for (std::size_t i = 0; i < keys.keys.size(); ++i) {
    put(schema, keys.keys[i], std::move(keys.items[i]));
  }
  return pretty_json(schema);
}

}  // namespace shardsim
