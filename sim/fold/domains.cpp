#include "fold/domains.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace shardsim {
namespace {

class DomainFinder {
 public:
  DomainFinder(const Folded& folded, const std::vector<LanePace>& paces)
      : folded_(folded), paces_(paces) {}

  Domains run() {
    number_structures();
    find_domains();
    return std::move(result_);
  }

 private:
  // Programs of one structure run the same passes in the same order, on one stage.
  void number_structures() {
    std::map<std::vector<std::int32_t>, std::int32_t> known;
    for (const LoweredProgram& program : folded_.programs) {
      std::vector<std::int32_t> key{program.stage};
      for (const LoweredPass& pass : program.passes) {
        key.push_back(at(folded_.templates, pass.pass_template).source);
      }
      structures_.push_back(known.try_emplace(std::move(key), count(known)).first->second);
    }
  }

  // Whether the lane's flows can belong to chains: nothing contends them, and its members are
  // classes of one structure that each use it once, in the same role.
  [[nodiscard]] bool in_lockstep(std::int32_t index) const {
    const LaneClass& lane = at(folded_.lanes, index);
    if (!at(paces_, index).is_private || lane.member_count == 0) {
      return false;
    }
    const LaneMember& first = at(folded_.members, lane.first_member);
    const std::int32_t program = at(folded_.ranks, first.rank_class).program;
    for (std::int32_t m = 0; m < lane.member_count; ++m) {
      const LaneMember& member = at(folded_.members, lane.first_member + m);
      const std::int32_t other = at(folded_.ranks, member.rank_class).program;
      const LaneMember& before = at(folded_.members, lane.first_member + std::max(m - 1, 0));
      if (at(at(folded_.programs, other).slots, member.slot).role != 0 ||
          at(structures_, other) != at(structures_, program) ||
          (m > 0 && before.rank_class == member.rank_class)) {
        return false;
      }
    }
    return true;
  }

  std::int32_t root(std::int32_t rank_class) {
    while (at(parents_, rank_class) != rank_class) {
      at(parents_, rank_class) = at(parents_, at(parents_, rank_class));
      rank_class = at(parents_, rank_class);
    }
    return rank_class;
  }

  void find_domains() {
    parents_.resize(folded_.ranks.size());
    std::iota(parents_.begin(), parents_.end(), 0);
    for (std::int32_t lane = 0; lane < count(folded_.lanes); ++lane) {
      result_.in_lockstep.push_back(in_lockstep(lane) ? 1 : 0);
      if (result_.in_lockstep.back() == 0) {
        continue;
      }
      const LaneClass& row = at(folded_.lanes, lane);
      for (std::int32_t m = 1; m < row.member_count; ++m) {
        const std::int32_t a = root(at(folded_.members, row.first_member).rank_class);
        const std::int32_t b = root(at(folded_.members, row.first_member + m).rank_class);
        at(parents_, std::max(a, b)) = std::min(a, b);
      }
    }
    std::vector<std::int32_t> domain_of_root(folded_.ranks.size(), -1);
    for (std::int32_t rank = 0; rank < count(folded_.ranks); ++rank) {
      std::int32_t& domain = at(domain_of_root, root(rank));
      if (domain < 0) {
        domain = count(result_.classes);
        result_.classes.emplace_back();
      }
      at(result_.classes, domain).push_back(rank);
      result_.domain_of_class.push_back(domain);
    }
  }

  const Folded& folded_;
  const std::vector<LanePace>& paces_;
  std::vector<std::int32_t> structures_;  // per program
  std::vector<std::int32_t> parents_;     // of rank classes, to domains
  Domains result_;
};

}  // namespace

Domains find_domains(const Folded& folded, const std::vector<LanePace>& paces) {
  return DomainFinder(folded, paces).run();
}

}  // namespace shardsim
