#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/analysis.h"
#include "base/errors.h"

namespace shardsim {
namespace {

constexpr double kRounding = 1e-9;  // of the scale: the tie of simultaneous ends (DESIGN)
constexpr int kNeighbours = 8;      // doubles tried on either side of where the remainder points

double plain_sum(const Breakdown& breakdown) {
  return std::accumulate(breakdown.seconds.begin(), breakdown.seconds.end(), 0.0);
}

// How a reader may add the bins: one after the other, and perhaps without losing what that rounds.
enum class Adding { both, plain };

bool is_settled(const Breakdown& breakdown, double total, Adding adding) {
  return plain_sum(breakdown) == total && (adding == Adding::plain || breakdown.total() == total);
}

// Looks for the nearest value of one bin with which the sum is the total; leaves it on failure.
bool settle_in(Breakdown& breakdown, std::size_t bin, double total, Adding adding) {
  const Breakdown before = breakdown;
  for (const double sum : {before.total(), plain_sum(before)}) {
    double below = before.seconds.at(bin) + (total - sum);
    double above = below;
    for (int i = 0; i <= kNeighbours; ++i) {
      for (const double value : {below, above}) {
        breakdown.seconds.at(bin) = value;
        if (is_settled(breakdown, total, adding)) {
          return true;
        }
      }
      below = std::nextafter(below, -std::numeric_limits<double>::infinity());
      above = std::nextafter(above, std::numeric_limits<double>::infinity());
    }
  }
  breakdown = before;
  return false;
}

}  // namespace

void settle(Breakdown& breakdown, double total, double scale) {
  SHARDSIM_CHECK(std::abs(total - breakdown.total()) <= kRounding * std::abs(scale),
                 "the bins of a breakdown do not sum to the whole");
  std::array<std::size_t, kBinCount> bins{};
  std::iota(bins.begin(), bins.end(), std::size_t{0});
  std::stable_sort(bins.begin(), bins.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(breakdown.seconds.at(a)) > std::abs(breakdown.seconds.at(b));
  });
  for (const Adding adding : {Adding::both, Adding::plain}) {
    if (is_settled(breakdown, total, adding)) {
      return;
    }
    for (const std::size_t bin : bins) {
      if (breakdown.seconds.at(bin) != 0.0 && settle_in(breakdown, bin, total, adding)) {
        return;
      }
    }
  }
}

}  // namespace shardsim
