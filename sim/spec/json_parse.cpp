#include "spec/json_parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace shardsim {
namespace {

constexpr std::size_t kMaxTreeBytes = std::size_t{256} << 20;

// Walks the text for the library and remembers how far it has read: its callbacks carry no
// position.
class TrackingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  TrackingIterator& operator++() {
    ++at_;
    *furthest_ = at_;
    return *this;
  }
  TrackingIterator operator++(int) {
    TrackingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const TrackingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

struct Place {
  int line = 1;
  int column = 1;
};

Place place_of(std::string_view text, std::size_t position) {
  Place place;
  for (const char c : text.substr(0, position)) {
    if (c == '\n') {
      ++place.line;
      place.column = 1;
    } else {
      ++place.column;
    }
  }
  return place;
}

// "unexpected end of input; expected '}'" out of the library's sentence, which also says what it
// was parsing and what it read last.
std::string reason_of(std::string text) {
  for (const std::string_view mark : {"syntax error while parsing ", "] "}) {
    const std::size_t at = text.find(mark);
    if (at != std::string::npos) {
      text.erase(0, at + (mark == "] " ? 2 : 0));
    }
  }
  const std::size_t dash = text.find(" - ");
  if (dash != std::string::npos) {
    text.erase(0, dash + 3);
  }
  const std::size_t last = text.find("; last read: ");
  if (last != std::string::npos) {
    const std::size_t expected = text.find("; expected ", last);
    text.erase(last, expected == std::string::npos ? std::string::npos : expected - last);
  }
  return text;
}

// Builds the tree from the library's events. Its methods are named by the library.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const std::string& file, const std::string& pointer,
              std::vector<Problem>& problems)
      : text_(text), file_(file), pointer_(pointer), problems_(problems), read_(text.data()) {}

  [[nodiscard]] TrackingIterator begin() { return {text_.data(), &read_}; }
  [[nodiscard]] TrackingIterator end() { return {text_.data() + text_.size(), &read_}; }
  [[nodiscard]] JsonValue take() { return std::move(root_); }

  bool null() { return add(JsonValue{}) != nullptr; }
  bool boolean(bool value) { return add(json_boolean(value)) != nullptr; }
  bool number_integer(std::int64_t value) { return add(json_integer(value)) != nullptr; }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(INT64_MAX)) {
      return number_float(static_cast<double>(value), std::to_string(value));
    }
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& written) {
    JsonValue number = json_number(value);
    number.text = written;
    return add(std::move(number)) != nullptr;
  }
  bool string(std::string& value) { return add(json_string(value)) != nullptr; }
  bool binary(nlohmann::json::binary_t& /*bytes*/) { return false; }  // not in text

  bool start_object(std::size_t /*unknown*/) { return open(json_object()); }
  bool start_array(std::size_t /*unknown*/) { return open(json_array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    Level& level = levels_.back();
    level.key = name;
    level.key_line = line();
    const auto [first, is_new] = level.lines.emplace(name, level.key_line);
    level.skip = !is_new;
    if (!is_new) {
      problems_.push_back({file_, child_pointer(level.pointer, name.substr(0, 200)),
                           fmt::format("duplicate key {} on line {} (first on line {})",
                                       brief_quote(name), level.key_line, first->second),
                           "keep one of them"});
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token, const std::exception& error) {
    // The library counts the character that it could not use.
    const std::size_t offset = std::min(text_.size(), position > 0 ? position - 1 : 0);
    const Place place = place_of(text_, offset);
    std::string what = reason_of(error.what());
    std::string right = "correct the JSON";
    if (what.find("unexpected end of input") != std::string::npos) {
      what = "the JSON ends unfinished";
      right = R"(is it cut off? close every { [ and ")";
    } else if (what.find("expected end of input") != std::string::npos) {
      what = "more text behind the end of the value";
      right = "remove it";
    } else if (what.find("UTF-8") != std::string::npos) {
      what = "bytes that are not UTF-8 text";
      right = "save the file as UTF-8";
    } else if (what.find("number overflow") != std::string::npos) {
      what = token.substr(0, 40) + " is too large for a number";
    } else if (names_no_number(offset)) {
      what = "NaN and Infinity are not JSON numbers";
      right = "write a finite number";
    } else if (token.find('/') != std::string::npos && token.size() < 4) {
      right = "JSON has no comments, remove them";
    }
    problems_.push_back({fmt::format("{}:{}:{}", file_, place.line, place.column), "",
                         "not valid JSON: " + what, right});
    return false;
  }

 private:
  struct Level {  // an object or array that is still open
    JsonValue value;
    std::string pointer;
    std::string key;  // of the member that comes next
    int key_line = 0;
    bool skip = false;  // that member's key stood here before
    std::map<std::string, int> lines;
  };

  // Line of what has just been read. A number is read one character too far.
  int line() {
    while (counted_ < read_) {
      line_ += *counted_++ == '\n' ? 1 : 0;
    }
    return line_;
  }

  [[nodiscard]] bool names_no_number(std::size_t offset) const {
    const std::size_t from = offset > 9 ? offset - 9 : 0;
    const std::string_view near = text_.substr(from, offset - from + 9);
    return near.find("NaN") != std::string_view::npos ||
           near.find("Inf") != std::string_view::npos ||
           near.find("nan") != std::string_view::npos || near.find("inf") != std::string_view::npos;
  }

  bool too_large(const std::string& why) {
    problems_.push_back({file_, pointer_, why, "no input of this program is that large"});
    return false;
  }

  [[nodiscard]] std::string next_pointer() const {
    if (levels_.empty()) {
      return pointer_;
    }
    const Level& level = levels_.back();
    return level.value.kind == JsonValue::Kind::object
               ? child_pointer(level.pointer, level.key)
               : fmt::format("{}/{}", level.pointer, level.value.items.size());
  }

  bool place(JsonValue& value) {
    value.file = file_;
    value.pointer = next_pointer();
    value.line = levels_.empty() || levels_.back().value.kind == JsonValue::Kind::array
                     ? line()
                     : levels_.back().key_line;
    bytes_ += sizeof(JsonValue) + value.file.size() + value.pointer.size() + value.text.size();
    return bytes_ <= kMaxTreeBytes || too_large("too many values");
  }

  JsonValue* add(JsonValue value) { return place(value) ? &attach(std::move(value)) : nullptr; }

  JsonValue& attach(JsonValue value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return root_;
    }
    Level& level = levels_.back();
    if (level.skip) {
      level.skip = false;
      skipped_ = std::move(value);
      return skipped_;
    }
    if (level.value.kind == JsonValue::Kind::object) {
      level.value.keys.push_back(level.key);
    }
    level.value.items.push_back(std::move(value));
    return level.value.items.back();
  }

  bool open(JsonValue value) {
    if (levels_.size() >= static_cast<std::size_t>(kMaxDepth)) {
      return too_large(fmt::format("nested more than {} levels deep", kMaxDepth));
    }
    if (!place(value)) {
      return false;
    }
    Level level;
    level.pointer = value.pointer;
    level.value = std::move(value);
    levels_.push_back(std::move(level));
    return true;
  }

  bool close() {
    JsonValue value = std::move(levels_.back().value);
    levels_.pop_back();
    attach(std::move(value));
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  const std::string& pointer_;
  std::vector<Problem>& problems_;
  const char* read_;
  const char* counted_ = text_.data();
  int line_ = 1;
  std::size_t bytes_ = 0;
  std::vector<Level> levels_;
  JsonValue root_;
  JsonValue skipped_;
};

}  // namespace

std::optional<JsonValue> parse_json(std::string_view text, const std::string& file,
                                    std::vector<Problem>& problems, const std::string& pointer) {
  if (text.size() > kMaxFileBytes) {
    problems.push_back({file, pointer, "larger than 64 MiB", "no input of this program is"});
    return std::nullopt;
  }
  TreeBuilder builder(text, file, pointer, problems);
  if (!nlohmann::json::sax_parse(builder.begin(), builder.end(), &builder)) {
    return std::nullopt;
  }
  return builder.take();
}

}  // namespace shardsim
