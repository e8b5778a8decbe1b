#include "fold/coalesce.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "base/rounding.h"
#include "fold/chain_parts.h"
#include "fold/chain_rows.h"
#include "fold/domains.h"
#include "fold/lockstep.h"
#include "fold/private_lanes.h"

namespace shardsim {
namespace {

using Key = std::vector<std::uint64_t>;

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

bool repeats(PassKind kind) {
  return kind == PassKind::forward || kind == PassKind::backward || kind == PassKind::weight ||
         kind == PassKind::pair;
}

// Streams such that whatever waits for what they held before its pass also waits for what the
// compute stream held: the last operation on them need not be told when the compute stream is busy
// longer.
StreamMask safe_in(const LoweredTemplate& from, const Waits& waits) {
  auto safe = static_cast<StreamMask>(~0U);
  std::vector<std::uint8_t> after_compute(from.ops.size(), 0);
  for (std::int32_t i = 0; i < count(from.ops); ++i) {
    bool after = (at(waits.entry, i) & mask(Stream::compute)) != 0;
    for (std::int32_t w = at(waits.first, i); w < at(waits.first, i + 1); ++w) {
      after = after || at(after_compute, at(waits.ops, w)) != 0;
    }
    at(after_compute, i) = after ? 1 : 0;
    if (!after) {
      safe = static_cast<StreamMask>(safe & ~at(waits.entry, i));
    }
  }
  return safe;
}

double alone_seconds(const Folded& folded, const RankClass& rank, const LoweredOp& op) {
  if (!op.is_flow) {
    return timer_seconds(op, rank.speed);
  }
  const LaneClass& lane = at(folded.lanes, at(folded.slot_lanes, rank.first_slot + op.slot));
  const double moving = op.amount <= 0 ? 0.0 : op.amount / lane.pace_alone.value();
  return op.duration.value() + op.steps * lane.hop_latency.value() + moving;
}

// How far apart simultaneous ends can be: the step is not known yet, but is shorter than all
// operations of all programs one after the other (unless flows contend a lot).
double tie_seconds(const Folded& folded) {
  double all = 0;
  std::vector<std::uint8_t> seen(folded.programs.size(), 0);
  for (const RankClass& rank : folded.ranks) {
    if (std::exchange(at(seen, rank.program), 1) != 0) {
      continue;
    }
    std::vector<std::int32_t> passes(folded.templates.size(), 0);
    for (const LoweredPass& pass : at(folded.programs, rank.program).passes) {
      ++at(passes, pass.pass_template);
    }
    for (std::int32_t t = 0; t < count(passes); ++t) {
      const std::int32_t times = at(passes, t);
      for (std::int32_t i = 0; times > 0 && i < count(at(folded.templates, t).ops); ++i) {
        all += times * alone_seconds(folded, rank, at(at(folded.templates, t).ops, i));
      }
    }
  }
  return kSimultaneous * all;
}

class Coalescer {
 public:
  explicit Coalescer(Folded folded)
      : folded_(std::move(folded)),
        tie_s_(tie_seconds(folded_)),
        paces_(lane_paces(folded_)),
        domains_(find_domains(folded_, paces_)) {
    old_templates_ = std::move(folded_.templates);
    old_programs_ = std::move(folded_.programs);
    folded_.templates.clear();
    folded_.programs.clear();
    waits_.reserve(old_templates_.size());
    for (const LoweredTemplate& from : old_templates_) {
      waits_.push_back(make_waits(from));
      safe_of_template_.push_back(safe_in(from, waits_.back()));
    }
    for (const LoweredProgram& program : old_programs_) {
      auto safe = static_cast<StreamMask>(~0U);
      for (const LoweredPass& pass : program.passes) {
        safe = static_cast<StreamMask>(safe & at(safe_of_template_, pass.pass_template));
      }
      safe_of_program_.push_back(safe);
    }
  }

  Folded run() {
    for (const std::vector<std::int32_t>& classes : domains_.classes) {
      coalesce_domain(classes);
    }
    folded_.domains = std::move(domains_.classes);
    folded_.domain_of_class = std::move(domains_.domain_of_class);
    return std::move(folded_);
  }

 private:
  // ---- domains

  // The domain in numbers of its own, and what tells it from others.
  std::pair<Domain, Key> describe(const std::vector<std::int32_t>& classes) {
    Domain domain{.classes = {}, .lanes = {}, .tie_s = tie_s_};
    Key key;
    std::map<std::int32_t, std::int32_t> lane_numbers;
    for (std::int32_t i = 0; i < count(classes); ++i) {
      const RankClass& rank = at(folded_.ranks, at(classes, i));
      const StreamMask safe = at(safe_of_program_, rank.program);
      domain.classes.push_back({.speed = rank.speed, .safe_streams = safe, .slot_lanes = {}});
      key.insert(key.end(), {bits(rank.speed), static_cast<std::uint64_t>(rank.slot_count), safe});
      for (std::int32_t slot = 0; slot < rank.slot_count; ++slot) {
        const std::int32_t lane = at(folded_.slot_lanes, rank.first_slot + slot);
        std::int32_t number = -1;
        if (at(domains_.in_lockstep, lane) != 0) {
          const auto [found, added] = lane_numbers.try_emplace(lane, count(domain.lanes));
          number = found->second;
          if (added) {
            add_lane(lane, domain, key);
          }
          at(domain.lanes, number).members.push_back({.rank_class = i, .slot = slot});
        }
        domain.classes.back().slot_lanes.push_back(number);
        key.push_back(static_cast<std::uint64_t>(number));
      }
    }
    return {std::move(domain), std::move(key)};
  }

  void add_lane(std::int32_t lane, Domain& domain, Key& key) const {
    const LaneClass& row = at(folded_.lanes, lane);
    const double pace = at(paces_, lane).pace_Bps;
    domain.lanes.push_back({.members = {},
                            .hop_latency = row.hop_latency,
                            .pace_alone = row.pace_alone,
                            .pace_Bps = pace});
    key.insert(key.end(),
               {bits(row.hop_latency.value()), bits(row.pace_alone.value()), bits(pace)});
  }

  // ---- templates and programs

  void coalesce_domain(const std::vector<std::int32_t>& classes) {
    const auto [domain, key] = describe(classes);
    Key with_programs = key;
    for (const std::int32_t rank : classes) {
      with_programs.push_back(static_cast<std::uint64_t>(at(folded_.ranks, rank).program));
    }
    const auto [found, added] = known_programs_.try_emplace(std::move(with_programs));
    if (added) {
      found->second = make_programs(classes, domain, key);
    }
    for (std::int32_t i = 0; i < count(classes); ++i) {
      RankClass& rank = at(folded_.ranks, at(classes, i));
      rank.program = at(found->second, i);
      rank.speed = 1.0;  // durations are those at the rank's speed from now on
    }
  }

  std::vector<std::int32_t> make_programs(const std::vector<std::int32_t>& classes,
                                          const Domain& domain, const Key& key) {
    const std::int32_t first = count(folded_.programs);
    std::vector<std::int32_t> result;
    for (const std::int32_t rank : classes) {
      result.push_back(count(folded_.programs));
      folded_.programs.push_back(at(old_programs_, at(folded_.ranks, rank).program));
    }
    // Passes of one number share a template, or a tuple of them.
    std::map<std::vector<std::int32_t>, std::vector<std::int32_t>> known;
    std::vector<std::int32_t> sources(classes.size());
    for (std::int32_t pass = 0; pass < count(at(folded_.programs, first).passes); ++pass) {
      for (std::int32_t i = 0; i < count(classes); ++i) {
        at(sources, i) = at(at(folded_.programs, first + i).passes, pass).pass_template;
      }
      const auto [found, added] = known.try_emplace(sources);
      if (added) {
        found->second = templates_of(sources, domain, key);
      }
      for (std::int32_t i = 0; i < count(classes); ++i) {
        at(at(folded_.programs, first + i).passes, pass).pass_template = at(found->second, i);
      }
    }
    return result;
  }

  std::vector<std::int32_t> templates_of(const std::vector<std::int32_t>& sources,
                                         const Domain& domain, const Key& key) {
    Key whole = key;
    whole.insert(whole.end(), sources.begin(), sources.end());
    const auto [found, added] = known_templates_.try_emplace(std::move(whole));
    if (added && !(repeats(at(old_templates_, sources.front()).kind) &&
                   add_chains(sources, domain, found->second))) {
      for (std::int32_t i = 0; i < count(sources); ++i) {
        found->second.push_back(add_as_is(at(sources, i), at(domain.classes, i).speed));
      }
    }
    return found->second;
  }

  std::int32_t add_as_is(std::int32_t source, double speed) {
    folded_.templates.push_back(at(old_templates_, source));
    for (LoweredOp& op : folded_.templates.back().ops) {
      if (!op.is_flow) {
        op.duration = Seconds{timer_seconds(op, speed)};
      }
    }
    return count(folded_.templates) - 1;
  }

  bool add_chains(const std::vector<std::int32_t>& sources, const Domain& domain,
                  std::vector<std::int32_t>& result) {
    std::vector<const LoweredTemplate*> from;
    std::vector<const Waits*> waits;
    for (const std::int32_t source : sources) {
      from.push_back(&at(old_templates_, source));
      waits.push_back(&at(waits_, source));
    }
    const Placement placement = place_operations(domain, from, waits);
    if (placement.places.empty()) {
      return false;
    }
    const std::vector<std::uint8_t> merged = merged_chains(placement);
    std::vector<CoalescedTemplate> written;
    for (std::int32_t i = 0; i < count(sources); ++i) {
      std::optional<CoalescedTemplate> one =
          write_parts(domain, i, *at(from, i), *at(waits, i), placement, merged);
      if (!one) {
        return false;
      }
      written.push_back(std::move(*one));
    }
    std::vector<std::int32_t> chain_numbers(merged.size(), -1);
    for (std::int32_t chain = 0; chain < count(merged); ++chain) {
      if (at(merged, chain) != 0) {
        at(chain_numbers, chain) = count(folded_.chains);
        folded_.chains.push_back(make_chain(domain, from, placement, chain));
      }
    }
    for (std::int32_t i = 0; i < count(sources); ++i) {
      result.push_back(add_written(at(written, i), chain_numbers));
    }
    return true;
  }

  std::int32_t add_written(CoalescedTemplate& written,
                           const std::vector<std::int32_t>& chain_numbers) {
    const std::int32_t first_part = count(folded_.parts);
    for (ChainPart part : written.parts) {
      part.chain = at(chain_numbers, part.chain);
      ChainRank& rank = at(at(folded_.chains, part.chain).ranks, part.rank);
      if (part.on_compute) {
        rank.first_compute_part =
            rank.compute_part_count == 0 ? count(folded_.parts) : rank.first_compute_part;
        ++rank.compute_part_count;
      }
      folded_.parts.push_back(part);
    }
    for (std::int32_t i = 0; i < count(written.from.ops); ++i) {
      LoweredOp& op = at(written.from.ops, i);
      if (op.part < 0) {
        continue;
      }
      op.part += first_part;
      const ChainPart& part = at(folded_.parts, op.part);
      std::int32_t& head = at(at(folded_.chains, part.chain).ranks, part.rank).head;
      head = head < 0 ? i : head;  // parts of a chain come in order
    }
    folded_.templates.push_back(std::move(written.from));
    return count(folded_.templates) - 1;
  }

  Folded folded_;
  double tie_s_;
  std::vector<LanePace> paces_;
  Domains domains_;
  std::vector<LoweredTemplate> old_templates_;
  std::vector<LoweredProgram> old_programs_;
  std::vector<Waits> waits_;
  std::vector<StreamMask> safe_of_template_;
  std::vector<StreamMask> safe_of_program_;
  std::map<Key, std::vector<std::int32_t>> known_programs_;
  std::map<Key, std::vector<std::int32_t>> known_templates_;
};

}  // namespace

Folded coalesce(Folded folded) { return Coalescer(std::move(folded)).run(); }

}  // namespace shardsim
