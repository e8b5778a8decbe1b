#include "fold/chain_parts.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/errors.h"

namespace shardsim {
namespace {

struct Need {                // something that an operation or a chain has to wait for
  std::int32_t op = -1;      // of the template, or
  std::int32_t stream = -1;  // what a stream held before the pass
  bool is_data = false;
  std::int32_t chain = -1;
  double offset = 0;  // its end, from the start of `chain`
};

struct Exit {
  double offset = 0;
  std::int32_t op = -1;
};

// An operation of the coalesced template before it is numbered.
struct Item {
  std::int32_t place = 0;  // sorts by it: an operation of the template before coalescing
  LoweredOp op{};
  std::vector<Need> needs{};
  std::int32_t previous = -1;       // item that comes before it in its chain, -1 = none
  std::int32_t first_compute = -1;  // of what it covers of the compute stream, -1 = nothing
};

struct Stretch {            // of the compute stream that a chain covers
  std::int32_t first = -1;  // operations; -1 = none
  std::int32_t last = -1;
  double start_s = 0;
  double end_s = 0;
};

class PartWriter {
 public:
  PartWriter(const Domain& domain, std::int32_t rank, const LoweredTemplate& from,
             const Waits& waits, const Placement& placement,
             const std::vector<std::uint8_t>& merged)
      : domain_(domain),
        rank_(rank),
        from_(from),
        waits_(waits),
        placement_(placement),
        places_(at(placement.places, rank)),
        merged_(merged) {}

  std::optional<CoalescedTemplate> run() {
    find_chains();
    find_exits();
    add_items();
    mark_streams();
    std::stable_sort(order_.begin(), order_.end(), [this](std::int32_t a, std::int32_t b) {
      return at(items_, a).place < at(items_, b).place;
    });
    if (!write()) {
      return std::nullopt;
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_part(std::int32_t op) const {
    const OpPlace& place = at(places_, op);
    return !place.is_free && at(merged_, place.chain) != 0;
  }

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

  // Of ends in one chain the latest counts, among equal ones data before order, then the lower
  // operation; of older chains what may still run when the newer one's end has come.
  void drop_implied(std::vector<Need>& needs) const {
    const auto implied = [&](const Need& need, const Need& by) {
      if (need.chain != by.chain) {
        return placement_.ended_by(need.chain, need.offset, by.chain, by.offset);
      }
      if (need.offset != by.offset) {
        return need.offset < by.offset;
      }
      return need.is_data != by.is_data ? by.is_data : by.op < need.op;
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
    ops_of_chain_.resize(placement_.chains.size());
    stretches_.resize(placement_.chains.size());
    for (std::int32_t i = 0; i < count(from_.ops); ++i) {
      const bool compute = at(from_.ops, i).stream == Stream::compute;
      last_on_stream_.try_emplace(at(from_.ops, i).stream, i).first->second = i;
      if (!is_part(i)) {
        continue;
      }
      const std::int32_t chain = at(places_, i).chain;
      at(ops_of_chain_, chain).push_back(i);
      if (compute) {
        Stretch& stretch = at(stretches_, chain);
        stretch.first = stretch.first < 0 ? i : stretch.first;
        stretch.last = i;
      }
    }
    for (std::int32_t chain = 0; chain < count(stretches_); ++chain) {
      Stretch& stretch = at(stretches_, chain);
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
    exits_[at(places_, op).chain].push_back({at(places_, op).end_s, op});
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
        needs_[i] = needs_of(i);
        add_exits(needs_[i]);
      }
    }
    for (std::int32_t chain = 0; chain < count(stretches_); ++chain) {
      const Stretch& stretch = at(stretches_, chain);
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
    for (const auto& [stream, op] : last_on_stream_) {
      if (is_part(op) && !stands_with_compute(stream, op)) {
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
    const auto compute = last_on_stream_.find(Stream::compute);
    if (compute == last_on_stream_.end() || !is_part(compute->second)) {
      return false;
    }
    const OpPlace& mine = at(places_, op);
    const OpPlace& last = at(places_, compute->second);
    return mine.chain == last.chain
               ? mine.end_s <= last.end_s
               : placement_.ended_by(mine.chain, mine.end_s, last.chain, last.end_s);
  }

  // ---- items

  void add_items() {
    for (std::int32_t chain = 0; chain < count(ops_of_chain_); ++chain) {
      if (!at(ops_of_chain_, chain).empty()) {
        add_chain(chain);
      }
    }
    for (std::int32_t i = 0; i < count(from_.ops); ++i) {
      if (!is_part(i)) {
        add_single(i);
      }
    }
  }

  void add_single(std::int32_t i) {
    Item item{.place = i, .op = at(from_.ops, i), .needs = needs_[i]};
    if (!item.op.is_flow) {
      item.op.duration = Seconds{timer_seconds(item.op, at(domain_.classes, rank_).speed)};
    }
    item.op.order = i;
    item.first_compute = item.op.stream == Stream::compute ? i : -1;
    item_of_op_[i] = append(std::move(item));
  }

  std::int32_t append(Item item) {
    order_.push_back(count(items_));
    items_.push_back(std::move(item));
    return count(items_) - 1;
  }

  // Exits by rising offset, one of each; the last compute operation before others, then the lower.
  [[nodiscard]] std::vector<Exit> sorted_exits(std::int32_t chain) {
    std::vector<Exit>& exits = exits_[chain];
    const std::int32_t last = at(stretches_, chain).last;
    std::sort(exits.begin(), exits.end(), [last](const Exit& a, const Exit& b) {
      if (a.offset != b.offset) {
        return a.offset < b.offset;
      }
      return (a.op == last) != (b.op == last) ? a.op == last : a.op < b.op;
    });
    std::vector<Exit> unique;
    for (const Exit& exit : exits) {
      if (unique.empty() || unique.back().offset != exit.offset) {
        unique.push_back(exit);
      }
    }
    return unique;
  }

  [[nodiscard]] std::vector<Need> needs_of_chain(std::int32_t chain) {
    const ChainStart& start = at(placement_.chains, chain);
    if (start.rank == rank_ && !at(places_, start.op).is_free) {
      return needs_[start.op];
    }
    // It begins at the end of a flow that all of its classes meet at, with the same operation.
    SHARDSIM_CHECK(at(places_, start.op).is_free && at(places_, start.op).chain == chain,
                   "a chain begins at nothing");
    return {{.op = start.op, .is_data = true, .chain = chain}};
  }

  void add_chain(std::int32_t chain) {
    const std::vector<Exit> exits = sorted_exits(chain);
    const Stretch& stretch = at(stretches_, chain);
    // An item must come before whatever waits for it or for a later part.
    std::vector<std::int32_t> latest(exits.size());
    std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
    for (std::size_t e = exits.size(); e-- > 0;) {
      lowest = std::min(lowest, exits[e].op);
      latest[e] = lowest;
    }
    std::int32_t previous = -1;
    double now = 0;
    for (std::size_t e = 0; e < exits.size(); ++e) {
      const Exit& exit = exits[e];
      const bool on_compute = stretch.first >= 0 && exit.offset <= stretch.end_s &&
                              (exit.offset > stretch.start_s || exit.offset == stretch.end_s);
      Item item{.place = latest[e], .previous = previous};
      if (on_compute) {
        item.place = std::max(item.place, stretch.first);
        item.first_compute = stretch.first;
      }
      if (previous >= 0) {
        item.place = std::max(item.place, at(items_, previous).place);
      } else {
        item.needs = needs_of_chain(chain);
      }
      const LoweredOp& ended = at(from_.ops, exit.op);
      item.op = {.stream = on_compute ? Stream::compute : kNoStream,
                 .category = ended.category,
                 .source = ended.source,
                 .label = ended.label,
                 .layer = ended.layer,
                 .duration = Seconds{exit.offset - now},
                 .order = exit.op,
                 .part = count(result_.parts)};
      result_.parts.push_back({.chain = chain,
                               .rank = rank_,
                               .exit = body_index(chain, exit.op),
                               .start_s = now,
                               .end_s = exit.offset,
                               .on_compute = on_compute});
      previous = append(std::move(item));
      part_at_[{chain, exit.offset}] = previous;
      now = exit.offset;
    }
  }

  [[nodiscard]] std::int32_t body_index(std::int32_t chain, std::int32_t op) const {
    const std::vector<std::int32_t>& ops = at(ops_of_chain_, chain);
    return static_cast<std::int32_t>(std::lower_bound(ops.begin(), ops.end(), op) - ops.begin());
  }

  [[nodiscard]] std::int32_t item_of(std::int32_t op) const {
    if (!is_part(op)) {
      return item_of_op_.at(op);
    }
    return part_at_.at({at(places_, op).chain, at(places_, op).end_s});
  }

  void mark_streams() {
    for (const auto& [stream, op] : last_on_stream_) {
      if (!is_part(op) || stream == Stream::compute) {
        continue;
      }
      const std::int32_t stands =
          item_of(stands_with_compute(stream, op) ? last_on_stream_.at(Stream::compute) : op);
      StreamMask& streams = at(items_, stands).op.stands_on;
      streams = static_cast<StreamMask>(streams | mask(stream));
    }
  }

  // ---- the template

  bool write() {
    result_.from = {.source = from_.source,
                    .name = from_.name,
                    .kind = from_.kind,
                    .uncoalesced_ops = count(from_.ops)};
    std::vector<std::int32_t> number(items_.size(), -1);
    StreamMask taken = 0;   // streams on which something stands by now
    StreamMask closed = 0;  // streams on which the last operation stands by now
    std::int32_t last_compute = -1;
    for (const std::int32_t index : order_) {
      const Item& item = at(items_, index);
      LoweredOp op = item.op;
      op.join = 0;
      op.first_dep = count(result_.from.deps);
      if (item.previous >= 0) {
        result_.from.deps.push_back(at(number, item.previous));
      }
      for (const Need& need : item.needs) {
        if (need.op < 0) {
          op.join = static_cast<StreamMask>(op.join | (1U << static_cast<unsigned>(need.stream)));
        } else if (!follows(item, need)) {
          result_.from.deps.push_back(at(number, item_of(need.op)));
        }
      }
      const auto deps = result_.from.deps.begin() + op.first_dep;
      if (std::any_of(deps, result_.from.deps.end(), [](std::int32_t dep) { return dep < 0; }) ||
          (op.join & taken) != 0 || (mask(op.stream) & closed) != 0 ||
          (item.first_compute >= 0 && item.first_compute < last_compute)) {
        return false;
      }
      std::sort(deps, result_.from.deps.end());
      result_.from.deps.erase(std::unique(deps, result_.from.deps.end()), result_.from.deps.end());
      op.dep_count = count(result_.from.deps) - op.first_dep;
      last_compute = std::max(last_compute, item.first_compute);
      closed = static_cast<StreamMask>(closed | op.stands_on);
      taken = static_cast<StreamMask>(taken | op.stands_on |
                                      (op.stream == kNoStream ? 0 : mask(op.stream)));
      at(number, index) = count(result_.from.ops);
      result_.from.ops.push_back(op);
    }
    return true;
  }

  // The need is met by the order of the stream that both stand on.
  [[nodiscard]] bool follows(const Item& item, const Need& need) const {
    const Stream stream = at(items_, item_of(need.op)).op.stream;
    return !need.is_data && stream != kNoStream && stream == item.op.stream;
  }

  const Domain& domain_;
  std::int32_t rank_;
  const LoweredTemplate& from_;
  const Waits& waits_;
  const Placement& placement_;
  const std::vector<OpPlace>& places_;
  const std::vector<std::uint8_t>& merged_;
  std::vector<std::vector<std::int32_t>> ops_of_chain_;
  std::vector<Stretch> stretches_;
  std::map<Stream, std::int32_t> last_on_stream_;
  std::map<std::int32_t, std::vector<Need>> needs_;  // of single operations and starts of chains
  std::map<std::int32_t, std::vector<Exit>> exits_;
  std::vector<Item> items_;
  std::vector<std::int32_t> order_;
  std::map<std::int32_t, std::int32_t> item_of_op_;
  std::map<std::pair<std::int32_t, double>, std::int32_t> part_at_;
  CoalescedTemplate result_;
};

}  // namespace

std::optional<CoalescedTemplate> write_parts(const Domain& domain, std::int32_t rank,
                                             const LoweredTemplate& from, const Waits& waits,
                                             const Placement& placement,
                                             const std::vector<std::uint8_t>& merged) {
  return PartWriter(domain, rank, from, waits, placement, merged).run();
}

std::vector<std::uint8_t> merged_chains(const Placement& placement) {
  std::vector<std::int32_t> ops(placement.chains.size(), 0);
  for (const std::vector<OpPlace>& of_rank : placement.places) {
    for (const OpPlace& place : of_rank) {
      ops[static_cast<std::size_t>(place.chain)] += place.is_free ? 0 : 1;
    }
  }
  std::vector<std::uint8_t> merged;
  merged.reserve(ops.size());
  for (const std::int32_t n : ops) {
    merged.push_back(n > 1 ? 1 : 0);
  }
  return merged;
}

}  // namespace shardsim
