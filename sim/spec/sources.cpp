#include "spec/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/text.h"
#include "spec/json_parse.h"
#include "spec/key_table.h"
#include "spec/overrides.h"
#include "spec/reader.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

// Reads to the end, but no further than a byte past what is accepted.
std::string read_all(std::istream& in) {
  std::string text;
  std::vector<char> block(1 << 16);
  while (in && text.size() <= kMaxFileBytes) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

// The keys of `format` that stand for files of another format.
std::vector<std::pair<std::string, Format>> reference_keys(Format format) {
  std::vector<std::pair<std::string, Format>> result;
  for (const KeyInfo& info : key_infos(format)) {
    if (info.type.kind == ValueType::Kind::reference) {
      result.emplace_back(info.key, info.type.format);
    }
  }
  return result;
}

bool is_path(const std::string& text) {
  return text.find('/') != std::string::npos ||
         (text.size() > 5 && text.compare(text.size() - 5, 5, ".json") == 0);
}

// The names of a format's files in the data folder, sorted; none when it cannot be read.
std::vector<std::string> files_of(Format format) {
  std::vector<std::string> result;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data_folder(format), error)) {
    if (entry.path().extension() == ".json" && !entry.is_directory(error)) {
      result.push_back(entry.path().stem().string());
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

// $SHARDSIM_DATA, nullptr when it says nothing.
const char* data_variable() {
  const char* set = std::getenv("SHARDSIM_DATA");
  return set != nullptr && *set != '\0' ? set : nullptr;
}

// The file that a name or path stands for; "" and a problem when there is none.
std::string file_of(const JsonValue& value, Format format, std::vector<Problem>& problems) {
  if (is_path(value.text)) {
    return path_of(value);
  }
  if (std::optional<Problem> none = data_folder_problem(format)) {
    if (std::find(problems.begin(), problems.end(), *none) == problems.end()) {
      problems.push_back(*std::move(none));
    }
    return "";
  }
  const std::vector<std::string> known = files_of(format);
  if (std::find(known.begin(), known.end(), value.text) != known.end()) {
    return data_folder(format) + value.text + ".json";
  }
  const std::string near = meant_name(value.text, known);
  problems.push_back(
      {value.file, value.pointer,
       fmt::format("no {} is named {}", format_name(format), brief_quote(value.text)),
       (near.empty() ? "" : fmt::format("did you mean {}? ", quote(near))) +
           "known names: " + join(known, ", ") + "; a path ends in .json"});
  return "";
}

}  // namespace

std::optional<JsonValue> parse_source(std::string_view text, const std::string& path,
                                      std::vector<Problem>& problems) {
  if (text.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    return parse_json(text, path, problems);
  }
  if (path == "-") {
    problems.push_back({path, "", "standard input is empty",
                        "pipe a JSON file into it, or name a file instead of -"});
  } else {
    problems.push_back({path, "", "is empty", "write an object { ... }"});
  }
  return std::nullopt;
}

std::string path_of(const JsonValue& value) {
  const fs::path path(value.text);
  const bool from_file = value.file != kOverrideFile && value.file != "-";
  return (path.is_absolute() || !from_file ? path : fs::path(value.file).parent_path() / path)
      .string();
}

std::optional<JsonValue> load_json(const std::string& path, std::vector<Problem>& problems) {
  if (path == "-") {
    return parse_source(read_all(std::cin), path, problems);
  }
  std::error_code error;
  if (fs::is_directory(path, error)) {
    problems.push_back({path, "", "is a folder", "name a JSON file"});
    return std::nullopt;
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    problems.push_back({path, "", fmt::format("cannot be read: {}", std::strerror(errno)),
                        "name a JSON file that exists"});
    return std::nullopt;
  }
  return parse_source(read_all(in), path, problems);
}

std::string data_folder(Format format) {
  const char* set = data_variable();
  const std::string base = set != nullptr ? set : SHARDSIM_DATA_DIR;
  switch (format) {
    case Format::model:
      return base + "/models/";
    case Format::cluster:
      return base + "/topologies/";
    case Format::gpu:
      return base + "/topologies/gpus/";
    case Format::stack:
      return base + "/configs/stacks/";
    case Format::measured:
    case Format::run:
      break;
  }
  return base + "/configs/";
}

std::optional<Problem> data_folder_problem(Format format) {
  const std::string folder = data_folder(format);
  if (!files_of(format).empty()) {
    return std::nullopt;
  }
  std::error_code error;
  const bool there = fs::is_directory(folder, error);
  std::string what = there ? fmt::format("{} has no {} files (.json)", folder, format_name(format))
                           : fmt::format("there is no folder {}", folder);
  if (data_variable() == nullptr) {
    return Problem{"data folder", "", std::move(what),
                   "set SHARDSIM_DATA to the folder that holds models/ and topologies/"};
  }
  return Problem{"SHARDSIM_DATA", "", std::move(what),
                 "set it to the folder that holds models/ and topologies/, or unset it"};
}

std::vector<std::string> names_of(Format format) {
  if (format == Format::run || format == Format::measured) {
    return {};
  }
  if (std::optional<Problem> none = data_folder_problem(format)) {
    throw ConfigError({*std::move(none)});
  }
  return files_of(format);
}

void resolve_reference(JsonValue& value, Format format, std::vector<Problem>& problems) {
  if (value.kind != JsonValue::Kind::string) {
    return;
  }
  const std::string path = file_of(value, format, problems);
  const std::size_t before = problems.size();
  std::optional<JsonValue> loaded;
  if (!path.empty()) {
    loaded = load_json(path, problems);
    if (!loaded && problems.size() > before && problems.back().what.find("cannot be read") == 0) {
      // Say who asked for a file that is not there.
      problems.back().file = value.file;
      problems.back().pointer = value.pointer;
      problems.back().what = fmt::format("{} {}", path, problems.back().what);
    }
  }
  if (loaded && loaded->kind != JsonValue::Kind::object) {
    problems.push_back(
        {path, "", fmt::format("a {} file holds an object", format_name(format)), "write { ... }"});
    loaded.reset();
  }
  const std::string file = value.file;
  const std::string pointer = value.pointer;
  value = loaded ? *std::move(loaded) : JsonValue{};
  if (value.kind == JsonValue::Kind::null) {
    value.file = file;
    value.pointer = pointer;
    value.unreadable = true;
  }
}

void resolve_references(JsonValue& root, Format format, std::vector<Problem>& problems) {
  for (const auto& [key, target] : reference_keys(format)) {
    JsonValue* value = find(root, key);
    if (value != nullptr) {
      resolve_reference(*value, target, problems);
      resolve_references(*value, target, problems);
    }
  }
}

}  // namespace shardsim
