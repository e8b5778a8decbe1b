#include "spec/layout_string.h"

#include <fmt/format.h>

#include <cctype>

namespace shardsim {
namespace {

constexpr std::size_t kMostSymbols = 1'000'000;
constexpr int kDeepest = 16;  // parentheses in each other

struct Symbol {
  char letter;
  std::size_t at;  // where it stands, from 1
};
using Symbols = std::vector<Symbol>;

class Expansion {
 public:
  explicit Expansion(const std::string& text) : text_(text) {}

  Symbols run() {
    Symbols symbols = sequence(0);
    if (!fault_ && next_ < text_.size()) {
      fail(next_, "')' without '('", "remove it");
    }
    return symbols;
  }
  [[nodiscard]] const std::optional<LayoutFault>& fault() const { return fault_; }

 private:
  void fail(std::size_t at, const std::string& what, std::string right) {
    if (!fault_) {
      fault_ = LayoutFault{fmt::format("character {}: {}", at + 1, what), std::move(right)};
    }
  }

  Symbols sequence(int depth) {
    Symbols result;
    while (!fault_ && next_ < text_.size() && text_[next_] != ')') {
      const char letter = text_[next_];
      const std::size_t start = next_++;
      if (letter == ',' || letter == ' ') {
        continue;
      }
      Symbols item;
      if (letter == '(') {
        item = group(start, depth);
      } else if (letter == 'E' || letter == 't' || letter == 'm' || letter == 'L' ||
                 letter == '|') {
        item = {{letter, start}};
      } else {
        fail(start, fmt::format("'{}' means nothing", letter),
             "use E, t, m, L, |, and *n or (...)*n to repeat");
      }
      append(item, repeats(), start, result);
    }
    return result;
  }

  Symbols group(std::size_t start, int depth) {
    if (depth >= kDeepest) {
      fail(start, "too many parentheses in each other", "use fewer");
      return {};
    }
    Symbols inside = sequence(depth + 1);
    if (!fault_ && next_ == text_.size()) {
      fail(start, "'(' is never closed", "add ')'");
      return {};
    }
    ++next_;  // the closing one
    if (!fault_ && inside.empty()) {
      fail(start, "nothing between the parentheses", "remove them");
    }
    return inside;
  }

  // What follows an item: "*12"; 1 without.
  std::size_t repeats() {
    if (fault_ || next_ >= text_.size() || text_[next_] != '*') {
      return 1;
    }
    const std::size_t star = next_++;
    std::size_t number = 0;
    const std::size_t first = next_;
    while (next_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[next_])) != 0 &&
           number <= kMostSymbols) {
      number = 10 * number + static_cast<std::size_t>(text_[next_++] - '0');
    }
    if (next_ == first || number == 0) {
      fail(star, "no number of repeats after '*'", "write one, 1 or more");
    }
    return number;
  }

  void append(const Symbols& item, std::size_t times, std::size_t start, Symbols& to) {
    if (fault_) {
      return;
    }
    if (times > kMostSymbols || item.size() * times + to.size() > kMostSymbols) {
      fail(start, fmt::format("more than {} symbols", kMostSymbols), "repeat less often");
      return;
    }
    for (std::size_t i = 0; i < times; ++i) {
      to.insert(to.end(), item.begin(), item.end());
    }
  }

  const std::string& text_;
  std::size_t next_ = 0;
  std::optional<LayoutFault> fault_;
};

LayoutFault fault_at(const Symbol& symbol, const std::string& what, std::string right) {
  return {fmt::format("character {}: {}", symbol.at + 1, what), std::move(right)};
}

// The embedding comes first, the loss last, MTP layers after all others.
std::optional<LayoutFault> order_fault(const Symbols& symbols) {
  if (symbols.empty() || symbols.front().letter != 'E') {
    return LayoutFault{"character 1: no E, the embedding, at the beginning", "begin with E"};
  }
  if (symbols.back().letter != 'L') {
    return fault_at(symbols.back(), "no L, the loss, at the end", "end with L");
  }
  bool mtp = false;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& symbol = symbols[i];
    if (symbol.letter == 'E' && i > 0) {
      return fault_at(symbol, "a second embedding", "write E once, at the beginning");
    }
    if (symbol.letter == 'L' && i + 1 < symbols.size()) {
      return fault_at(symbol, "the loss before the end", "write L once, at the end");
    }
    if (symbol.letter == 't' && mtp) {
      return fault_at(symbol, "a layer after an MTP layer", "write m after all t");
    }
    mtp = mtp || symbol.letter == 'm';
  }
  return std::nullopt;
}

}  // namespace

ParsedLayout parse_layout(const std::string& text) {
  ParsedLayout result;
  Expansion expansion(text);
  const Symbols symbols = expansion.run();
  result.fault = expansion.fault() ? expansion.fault() : order_fault(symbols);
  if (result.fault) {
    return result;
  }
  std::vector<LayoutChunk> chunks(1);
  for (const Symbol& symbol : symbols) {
    LayoutChunk& chunk = chunks.back();
    switch (symbol.letter) {
      case 'E':
        chunk.embedding = true;
        break;
      case 't':
        ++chunk.layers;
        break;
      case 'm':
        ++chunk.mtp;
        break;
      case 'L':
        chunk.loss = true;
        break;
      default:
        if (chunk == LayoutChunk{}) {
          result.fault = fault_at(symbol, fmt::format("stage {} holds nothing", chunks.size()),
                                  "remove this | or put a layer before it");
          return result;
        }
        chunks.emplace_back();
    }
  }
  result.chunks = std::move(chunks);
  return result;
}

std::int64_t layers_of(const std::vector<LayoutChunk>& chunks) {
  std::int64_t sum = 0;
  for (const LayoutChunk& chunk : chunks) {
    sum += chunk.layers;
  }
  return sum;
}

std::int64_t mtp_layers_of(const std::vector<LayoutChunk>& chunks) {
  std::int64_t sum = 0;
  for (const LayoutChunk& chunk : chunks) {
    sum += chunk.mtp;
  }
  return sum;
}

}  // namespace shardsim
