// Laying out text in 80 columns: tables, wrapped paragraphs, bars, names cut to fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

inline constexpr std::size_t kTextWidth = 80;

// Columns a text takes: characters, not bytes (UTF-8); control characters count as one.
[[nodiscard]] std::size_t columns(std::string_view text);

// At most `width` columns: the middle of a longer text gives way to "..". Control characters
// become '?', so that a name from a file cannot break the layout.
[[nodiscard]] std::string clip(std::string_view text, std::size_t width);

[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);   // right aligned
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);  // left aligned

// Words of `text` in lines of at most kTextWidth columns, the first after `first`, the rest after
// as many blanks. Words longer than a line are cut.
[[nodiscard]] std::string wrap(std::string_view first, std::string_view text);

// '#' for each of `width` columns that the fraction (0..1) covers, rounded to the nearest.
[[nodiscard]] std::string bar(double fraction, std::size_t width);

// Rows of equal length; columns are as wide as their widest cell, two blanks between. The columns
// named in `left` are left aligned, the others right aligned. Column `flexible` is clipped so that
// a line fits. Trailing blanks are removed.
struct Table {
  std::vector<std::vector<std::string>> rows;  // the first is the head
  std::vector<std::size_t> left{0};
  std::size_t flexible = 0;
  std::size_t indent = 2;
};
[[nodiscard]] std::string to_text(const Table& table);
// Columns that its lines take before any clipping.
[[nodiscard]] std::size_t widest_line(const Table& table);

}  // namespace shardsim
