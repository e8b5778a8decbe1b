#include "sharding/token_spread.h"

#include <algorithm>

#include "base/errors.h"

namespace shardsim {
namespace {

double binomial(std::int64_t n, std::int64_t k) {
  if (k < 0 || k > n) {
    return 0;
  }
  double product = 1;
  for (std::int64_t i = 0; i < k; ++i) {
    product *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  }
  return product;
}

// C(n - x, k) / C(n, k): none of k draws from n hits one of x.
double missed(std::int64_t n, std::int64_t x, std::int64_t k) {
  double product = 1;
  for (std::int64_t i = 0; i < k; ++i) {
    product *=
        static_cast<double>(std::max<std::int64_t>(0, n - x - i)) / static_cast<double>(n - i);
  }
  return product;
}

// Experts [first, end) of one holder: its parts of the groups at its ends, whole ones between.
double not_visited(const TokenSpread& spread, std::int64_t first, std::int64_t end) {
  const std::int64_t group = spread.experts / spread.groups;
  const std::int64_t spanned = (end - 1) / group - first / group + 1;
  const std::int64_t head = std::min(end, (first / group + 1) * group) - first;
  const std::int64_t tail = spanned > 1 ? (end - 1) % group + 1 : 0;
  const std::int64_t whole = std::max<std::int64_t>(0, spanned - 2);
  const std::int64_t choices = spread.group_top_k * group;
  double sum = 0;
  for (std::int64_t with_head = 0; with_head <= 1; ++with_head) {
    for (std::int64_t with_tail = 0; with_tail <= (spanned > 1 ? 1 : 0); ++with_tail) {
      for (std::int64_t j = 0; j <= whole; ++j) {
        const double chosen =
            binomial(whole, j) *
            binomial(spread.groups - spanned, spread.group_top_k - with_head - with_tail - j) /
            binomial(spread.groups, spread.group_top_k);
        const std::int64_t experts = with_head * head + with_tail * tail + j * group;
        sum += chosen * missed(choices, experts, spread.top_k);
      }
    }
  }
  return sum;
}

}  // namespace

double distinct_holders(const TokenSpread& spread, std::int64_t holders) {
  SHARDSIM_CHECK(spread.experts % holders == 0 && spread.experts % spread.groups == 0,
                 "holders and groups of experts are equal");
  const std::int64_t held = spread.experts / holders;
  double visited = 0;
  for (std::int64_t holder = 0; holder < holders; ++holder) {
    visited += 1.0 - not_visited(spread, holder * held, (holder + 1) * held);
  }
  return visited;
}

std::optional<TokenSpread> token_spread(const RunSpec& run) {
  if (!run.model.moe || run.moe.dispatcher != Dispatcher::deepep) {
    return std::nullopt;
  }
  const MoeSpec& moe = *run.model.moe;
  return TokenSpread{moe.experts, moe.top_k, moe.groups, moe.group_top_k};
}

}  // namespace shardsim
