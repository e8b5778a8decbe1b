#include "fold/lockstep.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/errors.h"

namespace shardsim {
namespace {

inline constexpr double kUnknown = -std::numeric_limits<double>::infinity();

struct End {  // offset seconds after the start of a chain
  std::int32_t chain = -1;
  double offset = 0;
};

class Placer {
 public:
  Placer(const Domain& domain, const std::vector<const LoweredTemplate*>& templates,
         const std::vector<const Waits*>& waits)
      : domain_(domain), templates_(templates), waits_(waits) {}

  Placement run() {
    if (!in_step()) {
      return {};
    }
    add_entries();
    for (std::size_t c = 0; c < domain_.classes.size(); ++c) {
      result_.places.emplace_back(templates_[c]->ops.size());
    }
    std::size_t longest = 0;
    for (const LoweredTemplate* from : templates_) {
      longest = std::max(longest, from->ops.size());
    }
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(longest); ++i) {
      for (std::int32_t c = 0; c < count(domain_.classes); ++c) {
        if (i < count(at(templates_, c)->ops)) {
          place(c, i);
        }
      }
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::int32_t lane_of(std::int32_t c, std::int32_t i) const {
    const LoweredOp& op = at(at(templates_, c)->ops, i);
    return op.is_flow ? at(at(domain_.classes, c).slot_lanes, op.slot) : -1;
  }

  // Members of a lane use it with the same operations.
  [[nodiscard]] bool in_step() const {
    for (std::int32_t c = 0; c < count(domain_.classes); ++c) {
      for (std::int32_t i = 0; i < count(at(templates_, c)->ops); ++i) {
        const std::int32_t lane = lane_of(c, i);
        if (lane < 0) {
          continue;
        }
        for (const LaneMember& member : at(domain_.lanes, lane).members) {
          const LoweredTemplate& other = *at(templates_, member.rank_class);
          if (i >= count(other.ops) || lane_of(member.rank_class, i) != lane ||
              at(other.ops, i).slot != member.slot) {
            return false;
          }
        }
      }
    }
    return true;
  }

  void add_entries() {
    result_.entry_chain.resize(domain_.classes.size());
    for (std::int32_t c = 0; c < count(domain_.classes); ++c) {
      StreamMask waited_for = 0;
      for (const StreamMask entry : at(waits_, c)->entry) {
        waited_for = static_cast<StreamMask>(waited_for | entry);
      }
      std::vector<std::int32_t>& chains = at(result_.entry_chain, c);
      chains.assign(kLoweredStreamCount, -1);
      for (std::size_t s = 0; s < chains.size(); ++s) {
        if ((waited_for >> s & 1U) != 0) {
          chains[s] = add_chain({.rank = c});
        }
      }
    }
  }

  std::int32_t add_chain(ChainStart start) {
    result_.later_by.emplace_back(result_.chains.size(), kUnknown);
    result_.chains.push_back(start);
    return count(result_.chains) - 1;
  }

  void find_ends(std::int32_t c, std::int32_t i) {
    ends_.clear();
    const Waits& waits = *at(waits_, c);
    for (std::int32_t w = at(waits.first, i); w < at(waits.first, i + 1); ++w) {
      const OpPlace& place = at(at(result_.places, c), at(waits.ops, w));
      ends_.push_back({place.chain, place.end_s});
    }
    for (std::size_t s = 0; at(waits.entry, i) >> s != 0; ++s) {
      if ((at(waits.entry, i) >> s & 1U) != 0) {
        ends_.push_back({at(result_.entry_chain, c)[s], 0});
      }
    }
  }

  // When the last of ends_ is over, if that is fixed in one chain.
  [[nodiscard]] bool fixed(End& start) const {
    start = {};
    for (const End& end : ends_) {
      if (end.chain > start.chain) {
        start = end;
      } else if (end.chain == start.chain) {
        start.offset = std::max(start.offset, end.offset);
      }
    }
    if (start.chain < 0 || is_entry(start.chain)) {
      return false;
    }
    return std::all_of(ends_.begin(), ends_.end(), [&](const End& end) {
      return end.chain == start.chain ||
             result_.ended_by(end.chain, end.offset, start.chain, start.offset);
    });
  }

  [[nodiscard]] bool is_entry(std::int32_t chain) const { return at(result_.chains, chain).op < 0; }

  // Chain `chain` starts at least `extra` after all of ends_.
  void start_after(std::int32_t chain, double extra) {
    std::vector<double>& later = at(result_.later_by, chain);
    const auto raise = [&](std::int32_t older, double seconds) {
      at(later, older) = std::max(at(later, older), seconds);
    };
    for (const End& end : ends_) {
      raise(end.chain, end.offset + extra);
      const std::vector<double>& known = at(result_.later_by, end.chain);
      for (std::int32_t older = 0; older < count(known); ++older) {
        raise(older, end.offset + extra + at(known, older));
      }
    }
  }

  void place(std::int32_t c, std::int32_t i) {
    const LoweredOp& op = at(at(templates_, c)->ops, i);
    const std::int32_t lane = lane_of(c, i);
    if (op.is_flow && lane < 0) {
      find_ends(c, i);
      free_flow({.rank = c, .op = i});
      return;
    }
    if (lane >= 0 && at(domain_.lanes, lane).members.size() > 1) {
      if (at(domain_.lanes, lane).members.front().rank_class == c) {
        meet(at(domain_.lanes, lane), op, i);
      }
      return;
    }
    const double seconds = lane >= 0 ? flow_seconds(at(domain_.lanes, lane), op)
                                     : timer_seconds(op, at(domain_.classes, c).speed);
    find_ends(c, i);
    End start;
    if (!fixed(start)) {
      start = {add_chain({.rank = c, .op = i}), 0};
      start_after(start.chain, 0);
    }
    at(at(result_.places, c), i) = {
        .chain = start.chain, .start_s = start.offset, .end_s = start.offset + seconds};
  }

  void free_flow(ChainStart start) {
    const std::int32_t chain = add_chain(start);
    start_after(chain, 0);
    at(at(result_.places, start.rank), start.op) = {.chain = chain, .is_free = true};
  }

  // Operation i of all members of a lane: one flow.
  void meet(const DomainLane& lane, const LoweredOp& op, std::int32_t i) {
    std::vector<End> arrivals;
    bool together = true;
    for (const LaneMember& member : lane.members) {
      find_ends(member.rank_class, i);
      End arrival;
      together = together && fixed(arrival) &&
                 (arrivals.empty() || arrivals.front().chain == arrival.chain);
      arrivals.push_back(arrival);
    }
    const double seconds = flow_seconds(lane, op);
    if (!together) {
      const std::int32_t chain = add_chain({.rank = lane.members.front().rank_class, .op = i});
      for (const LaneMember& member : lane.members) {
        find_ends(member.rank_class, i);
        start_after(chain, seconds);
        at(at(result_.places, member.rank_class), i) = {.chain = chain, .is_free = true};
      }
      return;
    }
    double begin = 0;
    for (const End& arrival : arrivals) {
      begin = std::max(begin, arrival.offset);
    }
    for (std::size_t m = 0; m < arrivals.size(); ++m) {
      at(at(result_.places, lane.members[m].rank_class), i) = {
          .chain = arrivals[m].chain, .start_s = arrivals[m].offset, .end_s = begin + seconds};
    }
  }

  [[nodiscard]] static double flow_seconds(const DomainLane& lane, const LoweredOp& op) {
    const double moving = op.amount <= 0 ? 0.0 : op.amount / lane.pace_Bps;
    return op.duration.value() + op.steps * lane.hop_latency.value() + moving;
  }

  const Domain& domain_;
  const std::vector<const LoweredTemplate*>& templates_;
  const std::vector<const Waits*>& waits_;
  Placement result_;
  std::vector<End> ends_;
};

}  // namespace

double timer_seconds(const LoweredOp& op, double speed) {
  // The host launches kernels at its own pace, whatever the GPU's speed.
  return op.stream == Stream::host ? op.duration.value() : op.duration.value() / speed;
}

bool Placement::ended_by(std::int32_t older, double offset, std::int32_t chain,
                         double limit) const {
  return older < chain && offset - at(at(later_by, chain), older) <= limit;
}

Waits make_waits(const LoweredTemplate& from) {
  Waits waits;
  std::array<std::int32_t, kLoweredStreamCount> last{};
  last.fill(-1);
  waits.first.push_back(0);
  for (std::int32_t i = 0; i < count(from.ops); ++i) {
    const LoweredOp& op = at(from.ops, i);
    const auto begin = static_cast<std::ptrdiff_t>(waits.ops.size());
    const auto add = [&](std::int32_t other, bool is_data) {
      if (std::find(waits.ops.begin() + begin, waits.ops.end(), other) == waits.ops.end()) {
        waits.ops.push_back(other);
        waits.is_data.push_back(is_data ? 1 : 0);
      }
    };
    for (std::int32_t d = 0; d < op.dep_count; ++d) {
      add(at(from.deps, op.first_dep + d), true);
    }
    const auto joined = static_cast<StreamMask>(op.join | mask(op.stream));
    StreamMask entry = 0;
    for (std::size_t s = 0; s < last.size(); ++s) {
      if ((joined >> s & 1U) == 0) {
        continue;
      }
      if (last[s] >= 0) {
        add(last[s], false);
      } else {
        entry = static_cast<StreamMask>(entry | (1U << s));
      }
    }
    waits.entry.push_back(entry);
    waits.first.push_back(count(waits.ops));
    at(last, static_cast<std::size_t>(op.stream)) = i;
  }
  return waits;
}

Placement place_operations(const Domain& domain,
                           const std::vector<const LoweredTemplate*>& templates,
                           const std::vector<const Waits*>& waits) {
  return Placer(domain, templates, waits).run();
}

}  // namespace shardsim
