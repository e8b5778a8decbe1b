#include "fold/chain_cuts.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace shardsim {
namespace {

class CutFinder {
 public:
  CutFinder(const Domain& domain, std::int32_t rank, const LoweredTemplate& from,
            const Waits& waits, const Placement& placement, const std::vector<std::uint8_t>& merged)
      : domain_(domain),
        rank_(rank),
        from_(from),
        waits_(waits),
        placement_(placement),
        places_(at(placement.places, rank)) {
    for (const OpPlace& place : places_) {
      cuts_.is_part.push_back(!place.is_free && at(merged, place.chain) != 0 ? 1 : 0);
    }
  }

  ChainCuts run() {
    find_chains();
    find_exits();
    for (std::int32_t chain = 0; chain < count(cuts_.exits); ++chain) {
      keep_in_template(chain);
      sort_exits(chain);
    }
    return std::move(cuts_);
  }

 private:
  [[nodiscard]] bool is_part(std::int32_t op) const { return at(cuts_.is_part, op) != 0; }

  // ---- what must be waited for

  [[nodiscard]] std::vector<Need> needs_of(std::int32_t op) const {
    std::vector<Need> needs;
    for (std::int32_t w = at(waits_.first, op); w < at(waits_.first, op + 1); ++w) {
      const std::int32_t other = at(waits_.ops, w);
      const OpPlace& place = at(places_, other);
      needs.push_back({.op = other,
                       .is_data = at(waits_.is_data, w) != 0,
                       .chain = place.chain,
                       .offset = place.end_s});
    }
    for (std::int32_t s = 0; at(waits_.entry, op) >> s != 0; ++s) {
      if ((at(waits_.entry, op) >> s & 1) != 0) {
        needs.push_back({.stream = s, .chain = at(at(placement_.entry_chain, rank_), s)});
      }
    }
    drop_implied(needs);
    return needs;
  }

  // Of ends in one chain the latest counts, of older chains what may still run when the newer
  // one's end has come. Simultaneous ends are all kept: which of them bound the start is decided by
  // the analysis, as it does among operations that are replayed one by one.
  void drop_implied(std::vector<Need>& needs) const {
    const auto implied = [&](const Need& need, const Need& by) {
      const double limit = by.offset - domain_.tie_s;
      return need.chain != by.chain ? placement_.ended_by(need.chain, need.offset, by.chain, limit)
                                    : need.offset < limit;
    };
    std::vector<Need> kept;
    for (const Need& need : needs) {
      const bool drop = std::any_of(needs.begin(), needs.end(), [&](const Need& by) {
        return &by != &need && implied(need, by);
      });
      if (!drop) {
        kept.push_back(need);
      }
    }
    needs = std::move(kept);
  }

  // ---- chains, their stretches of the compute stream, and where they are cut

  void find_chains() {
    cuts_.ops_of_chain.resize(placement_.chains.size());
    cuts_.exits.resize(placement_.chains.size());
    cuts_.stretches.resize(placement_.chains.size());
    for (std::int32_t i = 0; i < count(from_.ops); ++i) {
      const bool compute = at(from_.ops, i).stream == Stream::compute;
      cuts_.last_on_stream.try_emplace(at(from_.ops, i).stream, i).first->second = i;
      if (!is_part(i)) {
        continue;
      }
      const std::int32_t chain = at(places_, i).chain;
      at(cuts_.ops_of_chain, chain).push_back(i);
      if (compute) {
        Stretch& stretch = at(cuts_.stretches, chain);
        stretch.first = stretch.first < 0 ? i : stretch.first;
        stretch.last = i;
      }
    }
    for (std::int32_t chain = 0; chain < count(cuts_.stretches); ++chain) {
      Stretch& stretch = at(cuts_.stretches, chain);
      if (stretch.first >= 0) {
        stretch.start_s = stretch_start(chain, stretch.first);
        stretch.end_s = at(places_, stretch.last).end_s;
      }
    }
  }

  // 0 if the compute stream is surely idle when the chain starts, else the first operation's start.
  [[nodiscard]] double stretch_start(std::int32_t chain, std::int32_t first) const {
    if (at(places_, first).start_s == 0) {
      return 0;
    }
    const std::int32_t before = previous_compute(first);
    const std::int32_t older = before >= 0
                                   ? at(places_, before).chain
                                   : at(at(placement_.entry_chain, rank_), int(Stream::compute));
    const double offset = before >= 0 ? at(places_, before).end_s : 0;
    return placement_.ended_by(older, offset, chain, 0) ? 0 : at(places_, first).start_s;
  }

  [[nodiscard]] std::int32_t previous_compute(std::int32_t op) const {
    while (--op >= 0 && at(from_.ops, op).stream != Stream::compute) {
    }
    return op;
  }

  void add_exit(std::int32_t op) {
    at(cuts_.exits, at(places_, op).chain).push_back({at(places_, op).end_s, op});
  }

  void add_exits(const std::vector<Need>& needs) {
    for (const Need& need : needs) {
      if (need.op >= 0 && is_part(need.op)) {
        add_exit(need.op);
      }
    }
  }

  void find_exits() {
    for (std::int32_t i = 0; i < count(from_.ops); ++i) {
      const ChainStart& start = at(placement_.chains, at(places_, i).chain);
      const bool starts = start.rank == rank_ && start.op == i && !at(places_, i).is_free;
      if (!is_part(i) || starts) {
        cuts_.needs[i] = needs_of(i);
        add_exits(cuts_.needs[i]);
      }
    }
    for (std::int32_t chain = 0; chain < count(cuts_.stretches); ++chain) {
      const Stretch& stretch = at(cuts_.stretches, chain);
      if (stretch.first < 0) {
        continue;
      }
      add_exit(stretch.last);
      if (stretch.start_s > 0) {
        for (const Need& need : needs_of(stretch.first)) {
          SHARDSIM_CHECK(need.op >= 0 && need.chain == chain, "a chain waits for something else");
          add_exit(need.op);
        }
      }
    }
    for (const auto& [stream, op] : cuts_.last_on_stream) {
      if (is_part(op) && stands_with_compute(stream, op)) {
        cuts_.with_compute = static_cast<StreamMask>(cuts_.with_compute | mask(stream));
      } else if (is_part(op)) {
        add_exit(op);
      }
    }
  }

  // What waits for the last operation of a safe stream waits for the compute stream as well, so its
  // end need not be told if that of the compute stream is later.
  [[nodiscard]] bool stands_with_compute(Stream stream, std::int32_t op) const {
    if ((at(domain_.classes, rank_).safe_streams & mask(stream)) == 0) {
      return false;
    }
    const auto compute = cuts_.last_on_stream.find(Stream::compute);
    if (compute == cuts_.last_on_stream.end() || !is_part(compute->second)) {
      return false;
    }
    const OpPlace& mine = at(places_, op);
    const OpPlace& last = at(places_, compute->second);
    return mine.chain == last.chain
               ? mine.end_s <= last.end_s
               : placement_.ended_by(mine.chain, mine.end_s, last.chain, last.end_s);
  }

  // A chain that nothing waits for still takes place: it is one part to its end.
  void keep_in_template(std::int32_t chain) {
    const std::vector<std::int32_t>& ops = at(cuts_.ops_of_chain, chain);
    if (!ops.empty() && at(cuts_.exits, chain).empty()) {
      add_exit(*std::max_element(ops.begin(), ops.end(), [this](std::int32_t a, std::int32_t b) {
        return at(places_, a).end_s < at(places_, b).end_s;
      }));
    }
  }

  // By rising offset, each operation once; the last compute operation before others, then the
  // lower.
  void sort_exits(std::int32_t chain) {
    std::vector<Exit>& exits = at(cuts_.exits, chain);
    const std::int32_t last = at(cuts_.stretches, chain).last;
    std::sort(exits.begin(), exits.end(), [last](const Exit& a, const Exit& b) {
      if (a.offset != b.offset) {
        return a.offset < b.offset;
      }
      return (a.op == last) != (b.op == last) ? a.op == last : a.op < b.op;
    });
    const auto same = [](const Exit& a, const Exit& b) { return a.op == b.op; };
    exits.erase(std::unique(exits.begin(), exits.end(), same), exits.end());
  }

  const Domain& domain_;
  std::int32_t rank_;
  const LoweredTemplate& from_;
  const Waits& waits_;
  const Placement& placement_;
  const std::vector<OpPlace>& places_;
  ChainCuts cuts_;
};

}  // namespace

ChainCuts find_cuts(const Domain& domain, std::int32_t rank, const LoweredTemplate& from,
                    const Waits& waits, const Placement& placement,
                    const std::vector<std::uint8_t>& merged) {
  return CutFinder(domain, rank, from, waits, placement, merged).run();
}

}  // namespace shardsim
