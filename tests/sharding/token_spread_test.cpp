// Distinct ranks and nodes of a token's experts: the closed form against every possible choice.
#include "sharding/token_spread.h"

#include <bit>
#include <set>

#include "support/catch.h"

using namespace shardsim;

namespace {

// All choices of groups, then of experts in them, each counted once.
double by_enumeration(const TokenSpread& spread, std::int64_t holders) {
  const std::int64_t group = spread.experts / spread.groups;
  double visited = 0;
  double choices = 0;
  for (std::uint32_t groups = 0; groups < 1U << spread.groups; ++groups) {
    if (std::popcount(groups) != spread.group_top_k) {
      continue;
    }
    for (std::uint32_t experts = 0; experts < 1U << spread.experts; ++experts) {
      bool allowed = std::popcount(experts) == spread.top_k;
      std::set<std::int64_t> here;
      for (std::int64_t e = 0; e < spread.experts; ++e) {
        if ((experts >> e & 1U) != 0) {
          allowed = allowed && (groups >> (e / group) & 1U) != 0;
          here.insert(e / (spread.experts / holders));
        }
      }
      visited += allowed ? static_cast<double>(here.size()) : 0;
      choices += allowed ? 1 : 0;
    }
  }
  return visited / choices;
}

}  // namespace

TEST_CASE("token spread: the closed form counts what an enumeration counts") {
  for (const auto& [experts, top_k, groups, group_top_k] :
       {std::array{8, 3, 1, 1}, {8, 2, 4, 2}, {8, 3, 4, 2}, {12, 4, 6, 3}, {12, 2, 2, 1}}) {
    const TokenSpread spread{experts, top_k, groups, group_top_k};
    for (std::int64_t holders = 1; holders <= experts; holders *= 2) {
      INFO(experts << " experts top " << top_k << ", " << group_top_k << " of " << groups
                   << " groups, " << holders << " holders");
      if (experts % holders == 0) {
        CHECK(distinct_holders(spread, holders) ==
              Approx(by_enumeration(spread, holders)).epsilon(1e-12));
      }
    }
  }
}

// DeepSeek-V3: 8 nodes of 32 experts. 8 (1 - C(224,8)/C(256,8)) = 5.29 nodes; limited to 4 of 8
// groups, 4 (1 - C(96,8)/C(128,8)) = 3.63; on 64 ranks 32 (1 - C(124,8)/C(128,8)) = 7.36.
TEST_CASE("token spread: groups keep a token on few nodes") {
  CHECK(distinct_holders({256, 8, 1, 1}, 8) == Approx(5.29).margin(0.005));
  CHECK(distinct_holders({256, 8, 8, 4}, 8) == Approx(3.63).margin(0.005));
  CHECK(distinct_holders({256, 8, 8, 4}, 64) == Approx(7.36).margin(0.005));
  CHECK(distinct_holders({256, 8, 8, 4}, 256) == Approx(8));
  CHECK(distinct_holders({256, 8, 8, 4}, 1) == Approx(1));
}
