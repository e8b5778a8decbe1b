#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace shardsim {

namespace {

struct Scale {
  double factor;
  const char* unit;
};

template <std::size_t N>
std::string scaled(double value, const std::array<Scale, N>& scales) {
  for (const Scale& scale : scales) {
    if (std::abs(value) >= scale.factor) {
      return fmt::format("{:#.4g} {}", value / scale.factor, scale.unit);
    }
  }
  return fmt::format("{:.4g} {}", value / scales.back().factor, scales.back().unit);
}

}  // namespace

std::string format_seconds(Seconds time) {
  constexpr std::array<Scale, 4> kScales{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  return scaled(time.value(), kScales);
}

std::string format_gib(Bytes amount) {
  return fmt::format("{:.2f} GiB", static_cast<double>(amount.value()) / (1024.0 * 1024 * 1024));
}

std::string format_bytes(Bytes amount) {
  constexpr std::array<Scale, 5> kScales{
      {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  return scaled(static_cast<double>(amount.value()), kScales);
}

std::string format_rate(BytesPerSecond rate) {
  constexpr std::array<Scale, 4> kScales{
      {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1, "B/s"}}};
  return scaled(rate.value(), kScales);
}

std::string format_flops(FlopPerSecond rate) {
  constexpr std::array<Scale, 3> kScales{{{1e15, "PFLOP/s"}, {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}}};
  if (rate.value() >= 1e15 && rate.value() < 1e16) {
    return fmt::format("{:.1f} TFLOP/s", rate.value() / 1e12);
  }
  return scaled(rate.value(), kScales);
}

std::string format_count(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0);
       at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string format_percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

std::string format_fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

std::string counted(std::int64_t count, std::string_view noun) {
  const auto ends = [&](std::string_view ending) {
    return noun.size() > ending.size() && noun.substr(noun.size() - ending.size()) == ending;
  };
  if (count == 1) {
    return fmt::format("1 {}", noun);
  }
  if (ends("y")) {
    return fmt::format("{} {}ies", format_count(count), noun.substr(0, noun.size() - 1));
  }
  return fmt::format("{} {}{}", format_count(count), noun, ends("ch") || ends("s") ? "es" : "s");
}

std::string_view is_or_are(std::int64_t count) { return count == 1 ? "is" : "are"; }

std::string_view do_not(std::int64_t count) { return count == 1 ? "does not" : "do not"; }

std::string range_text(std::int64_t low, std::int64_t high) {
  return low == high ? std::to_string(low) : fmt::format("{} to {}", low, high);
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string join_or(const std::vector<std::string>& words) {
  if (words.size() < 2) {
    return words.empty() ? "" : words.front();
  }
  const std::vector<std::string> head(words.begin(), words.end() - 1);
  return join(head, ", ") + " or " + words.back();
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

namespace {

// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace shardsim
