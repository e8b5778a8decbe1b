#include "fold/chain_parts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/errors.h"
#include "fold/chain_cuts.h"

namespace shardsim {
namespace {

// An operation of the coalesced template before it is numbered.
struct Item {
  std::int32_t place = 0;  // sorts by it: an operation of the template before coalescing
  LoweredOp op{};
  std::vector<Need> needs{};
  std::int32_t previous = -1;       // item that comes before it in its chain, -1 = none
  std::int32_t first_compute = -1;  // of what it covers of the compute stream, -1 = nothing
};

class PartWriter {
 public:
  PartWriter(const Domain& domain, std::int32_t rank, const LoweredTemplate& from,
             const Placement& placement, ChainCuts cuts)
      : domain_(domain),
        rank_(rank),
        from_(from),
        placement_(placement),
        places_(at(placement.places, rank)),
        cuts_(std::move(cuts)) {}

  std::optional<CoalescedTemplate> run() {
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
  [[nodiscard]] bool is_part(std::int32_t op) const { return at(cuts_.is_part, op) != 0; }

  // ---- items

  void add_items() {
    for (std::int32_t chain = 0; chain < count(cuts_.ops_of_chain); ++chain) {
      if (!at(cuts_.ops_of_chain, chain).empty()) {
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
    Item item{.place = i, .op = at(from_.ops, i), .needs = cuts_.needs[i]};
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

  [[nodiscard]] std::vector<Need> needs_of_chain(std::int32_t chain) {
    const ChainStart& start = at(placement_.chains, chain);
    if (start.rank == rank_ && !at(places_, start.op).is_free) {
      return cuts_.needs[start.op];
    }
    // It begins at the end of a flow that all of its classes meet at, with the same operation.
    SHARDSIM_CHECK(at(places_, start.op).is_free && at(places_, start.op).chain == chain,
                   "a chain begins at nothing");
    return {{.op = start.op, .is_data = true, .chain = chain}};
  }

  void add_chain(std::int32_t chain) {
    const std::vector<Exit>& exits = at(cuts_.exits, chain);
    const Stretch& stretch = at(cuts_.stretches, chain);
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
      const bool within = exit.offset > stretch.start_s && exit.offset < stretch.end_s;
      const bool on_compute = stretch.first >= 0 && (within || exit.op == stretch.last);
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
      item_of_op_[exit.op] = previous;
      now = exit.offset;
    }
  }

  [[nodiscard]] std::int32_t body_index(std::int32_t chain, std::int32_t op) const {
    const std::vector<std::int32_t>& ops = at(cuts_.ops_of_chain, chain);
    return static_cast<std::int32_t>(std::lower_bound(ops.begin(), ops.end(), op) - ops.begin());
  }

  [[nodiscard]] std::int32_t item_of(std::int32_t op) const { return item_of_op_.at(op); }

  void mark_streams() {
    for (const auto& [stream, op] : cuts_.last_on_stream) {
      if (!is_part(op) || stream == Stream::compute) {
        continue;
      }
      const bool with_compute = (cuts_.with_compute & mask(stream)) != 0;
      const std::int32_t stands =
          item_of(with_compute ? cuts_.last_on_stream.at(Stream::compute) : op);
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
      if (!write_needs(item, number, op) || (op.join & taken) != 0 ||
          (mask(op.stream) & closed) != 0 ||
          (item.first_compute >= 0 && item.first_compute < last_compute)) {
        return false;
      }
      last_compute = std::max(last_compute, item.first_compute);
      closed = static_cast<StreamMask>(closed | op.stands_on);
      taken = static_cast<StreamMask>(taken | op.stands_on |
                                      (op.stream == kNoStream ? 0 : mask(op.stream)));
      at(number, index) = count(result_.from.ops);
      result_.from.ops.push_back(op);
    }
    return true;
  }

  // Dependencies on data, then those that stand for the order of streams, and joins. False when one
  // of them is not written yet.
  bool write_needs(const Item& item, const std::vector<std::int32_t>& number, LoweredOp& op) {
    std::vector<std::int32_t> data;
    std::vector<std::int32_t> order;
    op.join = 0;
    if (item.previous >= 0) {
      data.push_back(at(number, item.previous));
    }
    for (const Need& need : item.needs) {
      if (need.op < 0) {
        op.join = static_cast<StreamMask>(op.join | (1U << static_cast<unsigned>(need.stream)));
      } else if (!follows(item, need)) {
        (need.is_data ? data : order).push_back(at(number, item_of(need.op)));
      }
    }
    std::vector<std::int32_t>& deps = result_.from.deps;
    op.first_dep = count(deps);
    deps.insert(deps.end(), data.begin(), data.end());
    deps.insert(deps.end(), order.begin(), order.end());
    op.dep_count = count(data) + count(order);
    op.order_deps = count(order);
    return std::all_of(deps.begin() + op.first_dep, deps.end(),
                       [](std::int32_t dep) { return dep >= 0; });
  }

  // The need is met by the order of the stream that both stand on.
  [[nodiscard]] bool follows(const Item& item, const Need& need) const {
    const Stream stream = at(items_, item_of(need.op)).op.stream;
    return !need.is_data && stream != kNoStream && stream == item.op.stream;
  }

  const Domain& domain_;
  std::int32_t rank_;
  const LoweredTemplate& from_;
  const Placement& placement_;
  const std::vector<OpPlace>& places_;
  ChainCuts cuts_;
  std::vector<Item> items_;
  std::vector<std::int32_t> order_;
  std::map<std::int32_t, std::int32_t> item_of_op_;  // single operations and exits of chains
  CoalescedTemplate result_;
};

}  // namespace

std::optional<CoalescedTemplate> write_parts(const Domain& domain, std::int32_t rank,
                                             const LoweredTemplate& from, const Waits& waits,
                                             const Placement& placement,
                                             const std::vector<std::uint8_t>& merged) {
  return PartWriter(domain, rank, from, placement,
                    find_cuts(domain, rank, from, waits, placement, merged))
      .run();
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
