// Folded replay = full replay, on random lifts of random small jobs.
//
// A lift copies each rank, lane and link n times and connects the copies by a random permutation
// per incidence, so the whole has no symmetry that one could point at, yet all copies behave alike.
// Perturbing one copy of something makes the partition partly discrete.
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "fold/fold.h"
#include "lowering/lowering.h"
#include "replay/replay.h"
#include "support/catch.h"
#include "support/check_cases.h"
#include "support/hand_job.h"

namespace shardsim {
namespace {

int random_int(int low, int high) { return *rc::gen::inRange(low, high + 1); }

std::vector<std::int32_t> random_permutation(int size) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(size));
  std::iota(values.begin(), values.end(), 0);
  for (int i = size - 1; i > 0; --i) {
    std::swap(values[static_cast<std::size_t>(i)],
              values[static_cast<std::size_t>(random_int(0, i))]);
  }
  return values;
}

struct BaseLane {
  std::vector<LaneMember> members;                           // (base rank, slot)
  std::vector<std::pair<std::int32_t, std::int64_t>> links;  // (base link, weight)
  std::vector<double> amounts;                               // of its flows, in order
};

struct BaseJob {
  std::vector<std::int32_t> slots;  // per base rank: how many
  std::vector<BaseLane> lanes;
  std::vector<double> capacities;
};

BaseJob random_base() {
  BaseJob base;
  base.slots.assign(static_cast<std::size_t>(random_int(1, 4)), 0);
  for (int link = random_int(1, 5); link > 0; --link) {
    base.capacities.push_back(random_int(1, 9));
  }
  for (int lane = random_int(1, 5); lane > 0; --lane) {
    BaseLane& added = base.lanes.emplace_back();
    for (int member = random_int(1, 3); member > 0; --member) {
      const int rank = random_int(0, count(base.slots) - 1);
      if (at(base.slots, rank) < 8) {  // a stream of its own for each slot
        added.members.push_back({.rank_class = rank, .slot = at(base.slots, rank)++});
      }
    }
    if (added.members.empty()) {
      base.lanes.pop_back();
      continue;
    }
    for (int use = random_int(0, 3); use > 0; --use) {
      added.links.emplace_back(random_int(0, count(base.capacities) - 1), random_int(1, 3));
    }
    for (int flow = random_int(1, 4); flow > 0; --flow) {
      added.amounts.push_back(random_int(0, 9) * 0.25);
    }
  }
  return base;
}

// Flows of all lanes in one global order, which every rank follows: no deadlock.
std::vector<std::pair<std::int32_t, std::int32_t>> random_order(const BaseJob& base) {
  std::vector<std::int32_t> next(base.lanes.size(), 0);
  std::vector<std::pair<std::int32_t, std::int32_t>> order;
  std::vector<std::int32_t> open(base.lanes.size());
  std::iota(open.begin(), open.end(), 0);
  while (!open.empty()) {
    const auto i = static_cast<std::size_t>(random_int(0, count(open) - 1));
    const std::int32_t lane = open[i];
    order.emplace_back(lane, at(next, lane)++);
    if (at(next, lane) == count(at(base.lanes, lane).amounts)) {
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return order;
}

// Some earlier operations of a rank, before `limit`.
std::vector<std::int32_t> random_deps(std::int32_t limit) {
  std::vector<std::int32_t> deps;
  for (int i = random_int(0, 2); i > 0 && limit > 0; --i) {
    deps.push_back(random_int(0, limit - 1));
  }
  std::sort(deps.begin(), deps.end());
  deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
  return deps;
}

std::vector<std::vector<HandOp>> random_programs(const BaseJob& base) {
  std::vector<std::vector<HandOp>> programs(base.slots.size());
  for (const auto& [lane, k] : random_order(base)) {
    const BaseLane& row = at(base.lanes, lane);
    const double latency = random_int(0, 1) * 0.125;
    std::map<std::int32_t, std::int32_t> before;  // operations of each rank before this flow
    for (const LaneMember& member : row.members) {
      std::vector<HandOp>& ops = at(programs, member.rank_class);
      if (!before.contains(member.rank_class)) {
        if (random_int(0, 1) == 1) {
          ops.push_back(kernel(random_int(1, 8) * 0.25, random_deps(count(ops))));
        }
        before[member.rank_class] = count(ops);
      }
      // Two slots of one rank in one lane: neither may wait for the other.
      ops.push_back({.stream = static_cast<Stream>(2 + member.slot),
                     .seconds = latency,
                     .slot = member.slot,
                     .amount = at(row.amounts, k),
                     .steps = 1,
                     .deps = random_deps(before[member.rank_class])});
    }
  }
  for (std::vector<HandOp>& ops : programs) {
    ops.push_back(kernel(0.5));
  }
  return programs;
}

Lowered random_lift(int copies) {
  const BaseJob base = random_base();
  HandJob job;
  for (const double capacity : base.capacities) {
    for (int i = 0; i < copies; ++i) {
      job.add_link(capacity);
    }
  }
  // lanes[base][copy]: links by link and weight, then members by rank copy.
  std::vector<std::vector<std::map<LinkId, std::int64_t>>> uses;
  for (const BaseLane& lane : base.lanes) {
    auto& copies_of = uses.emplace_back(static_cast<std::size_t>(copies));
    for (const auto& [link, weight] : lane.links) {
      const auto image = random_permutation(copies);
      for (int i = 0; i < copies; ++i) {
        at(copies_of, i)[link * copies + at(image, i)] += weight;
      }
    }
  }
  for (std::int32_t lane = 0; lane < count(base.lanes); ++lane) {
    for (int i = 0; i < copies; ++i) {
      std::vector<LinkUse> row;
      for (const auto& [link, weight] : at(at(uses, lane), i)) {
        row.push_back({.link = link, .weight = weight});
      }
      job.add_lane(row, 0.0625, lane);
    }
  }
  std::map<std::pair<std::int32_t, std::int32_t>,
           std::pair<std::int32_t, std::vector<std::int32_t>>>
      image_of_slot;
  for (std::int32_t lane = 0; lane < count(base.lanes); ++lane) {
    for (const LaneMember& member : at(base.lanes, lane).members) {
      image_of_slot[{member.rank_class, member.slot}] = {lane, random_permutation(copies)};
    }
  }
  const auto programs = random_programs(base);
  for (std::int32_t rank = 0; rank < count(base.slots); ++rank) {
    const std::int32_t program = job.add_program(at(programs, rank), 2);
    for (int i = 0; i < copies; ++i) {
      std::vector<LaneId> lanes;
      for (std::int32_t slot = 0; slot < at(base.slots, rank); ++slot) {
        const auto& [lane, image] = image_of_slot.at({rank, slot});
        lanes.push_back(lane * copies + at(image, i));
      }
      job.add_rank(program, lanes);
    }
  }
  return job.lowered;
}

void perturb(Lowered& lowered) {
  if (random_int(0, 1) == 1) {
    at(lowered.speed_of_rank, random_int(0, count(lowered.speed_of_rank) - 1)) = 0.5;
  }
  if (random_int(0, 1) == 1) {
    auto& link = at(lowered.link_capacity, random_int(0, count(lowered.link_capacity) - 1));
    link = link / 2.0;
  }
}

// The largest difference of any time of any rank, over the step.
double worst_difference(const Folded& folded, const Trace& small, const Trace& full) {
  double worst = 0;
  for (Rank rank = 0; rank < count(full.ranks); ++rank) {
    const TraceRank& mine = at(small.ranks, at(folded.class_of_rank, rank));
    const TraceRank& theirs = at(full.ranks, rank);
    for (std::size_t i = 0; i < theirs.end_s.size(); ++i) {
      worst = std::max({worst, std::abs(mine.end_s[i] - theirs.end_s[i]),
                        std::abs(mine.start_s[i] - theirs.start_s[i])});
    }
  }
  return worst / full.step_s;
}

TEST_CASE("property: folded replay equals full replay on random lifts") {
  REQUIRE(test::check_cases("folded = full", 1500, [] {
    const int copies = random_int(1, 6);
    Lowered lowered = random_lift(copies);
    const bool perturbed = random_int(0, 1) == 1;
    if (perturbed) {
      perturb(lowered);
    }
    check_lowered(lowered);
    const Folded folded = fold(lowered, FoldMode::automatic);
    check_folded(folded);
    if (!perturbed) {
      RC_ASSERT(folded.ranks.size() <= lowered.program_of_rank.size());
      RC_TAG(folded.ranks.size() < lowered.program_of_rank.size() ? "folds" : "discrete");
    }
    const Folded discrete = fold(lowered, FoldMode::off);
    check_folded(discrete);
    const Trace small = replay_in_child(folded);
    const Trace full = replay_in_child(discrete);
    RC_ASSERT(worst_difference(folded, small, full) < 1e-9);
  }));
}

}  // namespace
}  // namespace shardsim
