#include "report/writers/layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.h"
#include "base/text.h"

namespace shardsim {

namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

bool is_control(char c) {
  const unsigned char code = static_cast<unsigned char>(c);
  return code < 0x20U || code == 0x7FU;
}

// Bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (at < text.size() && count > 0) {
    ++at;
    while (at < text.size() && continues_character(text[at])) ++at;
    --count;
  }
  return at;
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::string clip(std::string_view text, std::size_t width) {
  std::string clean(text);
  std::replace_if(clean.begin(), clean.end(), is_control, '?');
  const std::size_t wide = columns(clean);
  if (wide <= width) return clean;
  if (width <= 2) return clean.substr(0, bytes_of(clean, width));
  const std::size_t tail = (width - 2) / 3;
  const std::size_t head = width - 2 - tail;
  return clean.substr(0, bytes_of(clean, head)) + ".." + clean.substr(bytes_of(clean, wide - tail));
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t wide = columns(text);
  return std::string(wide < width ? width - wide : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t wide = columns(text);
  return std::string(text) + std::string(wide < width ? width - wide : 0, ' ');
}

std::string wrap(std::string_view first, std::string_view text) {
  const std::string indent(columns(first), ' ');
  const std::size_t room = kTextWidth - indent.size();
  std::string out(first);
  std::size_t used = 0;
  for (const std::string& raw : split(text, ' ')) {
    if (raw.empty()) continue;
    const std::string word = clip(raw, room);
    const std::size_t wide = columns(word);
    if (used > 0 && used + 1 + wide > room) {
      out += "\n" + indent;
      used = 0;
    }
    if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += wide;
  }
  return out + "\n";
}

std::string bar(double fraction, std::size_t width) {
  const double clamped = std::clamp(fraction, 0.0, 1.0);
  return std::string(static_cast<std::size_t>(std::lround(clamped * static_cast<double>(width))),
                     '#');
}

namespace {

std::vector<std::size_t> column_widths(const Table& table) {
  std::vector<std::size_t> widths(table.rows.front().size(), 0);
  for (const auto& row : table.rows) {
    SHARDSIM_CHECK(row.size() == widths.size(), "table rows of different lengths");
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  return widths;
}

std::size_t line_width(const Table& table, const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), table.indent + 2 * (widths.size() - 1));
}

}  // namespace

std::size_t widest_line(const Table& table) {
  return table.rows.empty() ? 0 : line_width(table, column_widths(table));
}

std::string to_text(const Table& table) {
  if (table.rows.empty()) return "";
  std::vector<std::size_t> widths = column_widths(table);
  const std::size_t total = line_width(table, widths);
  if (total > kTextWidth) {
    const std::size_t excess = total - kTextWidth;
    std::size_t& width = widths[table.flexible];
    width = width > excess + 4 ? width - excess : std::min<std::size_t>(width, 4);
  }
  std::string out;
  for (const auto& row : table.rows) {
    std::string line(table.indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool left = std::find(table.left.begin(), table.left.end(), i) != table.left.end();
      const std::string cell = clip(row[i], widths[i]);
      if (i > 0) line += "  ";
      line += left ? pad_right(cell, widths[i]) : pad_left(cell, widths[i]);
    }
    out += without_trailing_blanks(line) + "\n";
  }
  return out;
}

}  // namespace shardsim
