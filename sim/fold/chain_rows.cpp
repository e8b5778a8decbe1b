#include "fold/chain_rows.h"

namespace shardsim {
namespace {

ChainRank chain_rank(const DomainClass& rank, const LoweredTemplate& from,
                     const std::vector<OpPlace>& places, std::int32_t chain) {
  ChainRank result{.slot_count = count(rank.slot_lanes)};
  result.body.name = from.name;
  result.body.kind = from.kind;
  std::vector<std::int32_t> number(from.ops.size(), -1);
  for (std::int32_t i = 0; i < count(from.ops); ++i) {
    const OpPlace& place = at(places, i);
    if (place.chain != chain || place.is_free) {
      continue;
    }
    LoweredOp op = at(from.ops, i);
    op.first_dep = count(result.body.deps);
    for (std::int32_t d = 0; d < op.dep_count; ++d) {
      const std::int32_t dep = at(number, at(from.deps, at(from.ops, i).first_dep + d));
      if (dep >= 0) {
        result.body.deps.push_back(dep);
      }
    }
    op.dep_count = count(result.body.deps) - op.first_dep;
    op.duration = op.is_flow ? op.duration : Seconds{timer_seconds(op, rank.speed)};
    op.order = i;
    at(number, i) = count(result.body.ops);
    result.body.ops.push_back(op);
    result.start_s.push_back(place.start_s);
    result.end_s.push_back(place.end_s);
  }
  return result;
}

}  // namespace

Chain make_chain(const Domain& domain, const std::vector<const LoweredTemplate*>& from,
                 const Placement& placement, std::int32_t chain) {
  Chain result;
  for (const DomainLane& lane : domain.lanes) {
    result.lanes.push_back(
        {.members = lane.members, .hop_latency = lane.hop_latency, .pace_alone = lane.pace_alone});
  }
  for (std::int32_t i = 0; i < count(domain.classes); ++i) {
    const DomainClass& rank = at(domain.classes, i);
    result.ranks.push_back(chain_rank(rank, *at(from, i), at(placement.places, i), chain));
    result.slot_lanes.push_back(rank.slot_lanes);
  }
  return result;
}

}  // namespace shardsim
