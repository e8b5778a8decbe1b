#include "workload/check_execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>

#include "base/errors.h"
#include "base/ids.h"
#include "base/text.h"

namespace shardsim {
namespace {

// A slot: the group of a collective, or one end of a stage boundary in one direction.
struct SlotKey {
  AxisSet group = 0;
  std::int32_t stage_offset = 0;
  Primitive end = Primitive::none;  // send or recv; none for collectives
  auto operator<=>(const SlotKey&) const = default;
};

SlotKey slot_key(const Communication& c) {
  return {c.group, c.stage_offset, c.group == 0 ? c.primitive : Primitive::none};
}

// The slot that the partner of a slot uses: its own for collectives, the other end for send/recv.
SlotKey partner_key(const SlotKey& key) {
  SlotKey other = key;
  other.stage_offset = -key.stage_offset;
  if (key.end != Primitive::none) {
    other.end = key.end == Primitive::send ? Primitive::recv : Primitive::send;
  }
  return other;
}

struct Use {
  std::int32_t pass = 0;
  std::int32_t op = 0;
};

struct SlotUses {  // of one kind of rank
  std::vector<Use> uses;
  std::int32_t partner_slot = -1;      // -1: nobody uses the other end
  std::vector<std::int32_t> partners;  // kinds of ranks it meets, itself included
};

struct TemplateIndex {
  std::vector<std::int32_t> slot;                              // per operation, -1 = none
  std::vector<std::int32_t> nth;                               // use of its slot within the pass
  std::vector<std::int32_t> uses;                              // per slot
  std::array<std::vector<std::int32_t>, kStreamCount> queues;  // operations of each stream
};

struct Meetings {
  std::vector<SlotKey> slots;
  std::vector<TemplateIndex> templates;
  std::vector<std::vector<SlotUses>> uses;  // [kind of rank][slot]
};

std::vector<SlotKey> all_slots(const Program& program) {
  std::vector<SlotKey> slots;
  for (const Communication& c : program.communications) {
    slots.push_back(slot_key(c));
  }
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  return slots;
}

std::int32_t find_slot(const std::vector<SlotKey>& slots, const SlotKey& key) {
  const auto found = std::lower_bound(slots.begin(), slots.end(), key);
  return found != slots.end() && *found == key ? static_cast<std::int32_t>(found - slots.begin())
                                               : -1;
}

TemplateIndex index_template(const Program& program, const PassTemplate& t,
                             const std::vector<SlotKey>& slots) {
  TemplateIndex index;
  index.uses.assign(slots.size(), 0);
  for (std::int32_t i = 0; i < count(t.ops); ++i) {
    const Op& op = at(t.ops, i);
    at(index.queues, static_cast<int>(op.stream)).push_back(i);
    const std::int32_t slot =
        op.communication < 0
            ? -1
            : find_slot(slots, slot_key(at(program.communications, op.communication)));
    index.slot.push_back(slot);
    index.nth.push_back(slot < 0 ? -1 : at(index.uses, slot)++);
  }
  return index;
}

std::vector<SlotUses> uses_of(const Program& program, const Meetings& meetings,
                              const RankProgram& rank) {
  std::vector<SlotUses> result(meetings.slots.size());
  for (std::int32_t s = 0; s < count(result); ++s) {
    at(result, s).partner_slot = find_slot(meetings.slots, partner_key(at(meetings.slots, s)));
  }
  for (std::int32_t p = 0; p < count(rank.passes); ++p) {
    const std::int32_t t = at(rank.passes, p).pass_template;
    const TemplateIndex& index = at(meetings.templates, t);
    for (std::int32_t i = 0; i < count(at(program.templates, t).ops); ++i) {
      if (at(index.slot, i) >= 0) {
        at(result, at(index.slot, i)).uses.push_back({p, i});
      }
    }
  }
  return result;
}

void sort_unique(std::vector<std::int32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Fills the partners of slot `s` of every kind of rank, from all ranks.
void find_partners(const Program& program, const RankGrid& grid, std::int32_t s,
                   Meetings& meetings) {
  const SlotKey& key = at(meetings.slots, s);
  if (key.end != Primitive::none) {
    for (Rank rank = 0; rank < grid.ranks(); ++rank) {
      const Rank other = grid.stage_neighbour(rank, key.stage_offset);
      at(at(meetings.uses, at(program.program_of_rank, rank)), s)
          .partners.push_back(at(program.program_of_rank, other));
    }
  } else {
    std::vector<std::vector<std::int32_t>> kinds(
        static_cast<std::size_t>(grid.group_count(key.group)));
    for (Rank rank = 0; rank < grid.ranks(); ++rank) {
      std::vector<std::int32_t>& group = at(kinds, grid.group_of(rank, key.group));
      const std::int32_t kind = at(program.program_of_rank, rank);
      if (std::find(group.begin(), group.end(), kind) == group.end()) {
        group.push_back(kind);
      }
    }
    for (const std::vector<std::int32_t>& group : kinds) {
      for (const std::int32_t kind : group) {
        std::vector<std::int32_t>& partners = at(at(meetings.uses, kind), s).partners;
        partners.insert(partners.end(), group.begin(), group.end());
      }
    }
  }
  for (std::vector<SlotUses>& uses : meetings.uses) {
    sort_unique(at(uses, s).partners);
  }
}

const Communication& communication_of(const Program& program, std::int32_t kind, const Use& use) {
  const Pass& pass = at(at(program.programs, kind).passes, use.pass);
  return at(program.communications,
            at(at(program.templates, pass.pass_template).ops, use.op).communication);
}

bool fit(const Communication& a, const Communication& b) {
  return a.bytes == b.bytes && a.dtype == b.dtype && (a.group == 0 || a.primitive == b.primitive);
}

// Partners use a slot equally often, with equal communications in equal order.
void check_meetings(const Program& program, const Meetings& meetings) {
  for (std::int32_t kind = 0; kind < count(meetings.uses); ++kind) {
    for (const SlotUses& mine : at(meetings.uses, kind)) {
      if (mine.uses.empty()) {
        continue;
      }
      const std::string first =
          place_text(program, kind, mine.uses.front().pass, mine.uses.front().op);
      SHARDSIM_CHECK(mine.partner_slot >= 0, first + " has nobody at its other end");
      for (const std::int32_t other : mine.partners) {
        const std::vector<Use>& theirs = at(at(meetings.uses, other), mine.partner_slot).uses;
        for (std::size_t k = 0; k < std::min(mine.uses.size(), theirs.size()); ++k) {
          SHARDSIM_CHECK(fit(communication_of(program, kind, mine.uses[k]),
                             communication_of(program, other, theirs[k])),
                         place_text(program, kind, mine.uses[k].pass, mine.uses[k].op) +
                             " meets another communication: " +
                             place_text(program, other, theirs[k].pass, theirs[k].op));
        }
        SHARDSIM_CHECK(mine.uses.size() == theirs.size(),
                       fmt::format("{} and its like run {} times, their partners in program {} {}",
                                   first, mine.uses.size(), other, theirs.size()));
      }
    }
  }
}

// One rank of a kind while the step is run abstractly: every operation takes no time.
struct Runner {
  struct Head {
    std::int32_t pass = 0;
    std::int32_t place = 0;  // in the template's queue of the stream
  };
  std::array<Head, kStreamCount> heads;
  std::vector<std::int32_t> first_op;                // per pass
  std::vector<char> done;                            // per operation
  std::vector<std::vector<std::int32_t>> first_use;  // per slot and pass
  std::vector<std::vector<char>> arrived;            // per slot and use
};

class Execution {
 public:
  Execution(const Program& program, const Meetings& meetings)
      : program_(program), meetings_(meetings) {
    for (std::int32_t kind = 0; kind < count(program.programs); ++kind) {
      runners_.push_back(make_runner(kind));
    }
  }

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::int32_t kind = 0; kind < count(runners_); ++kind) {
        moved = advance(kind) || moved;
      }
    }
    std::vector<std::string> stuck;
    for (std::int32_t kind = 0; kind < count(runners_); ++kind) {
      for (std::int32_t s = 0; s < static_cast<std::int32_t>(kStreamCount); ++s) {
        if (const std::int32_t op = head_op(kind, s); op >= 0) {
          stuck.push_back(place_text(program_, kind, at(at(runners_, kind).heads, s).pass, op));
        }
      }
    }
    SHARDSIM_CHECK(stuck.empty(), "these wait for ever: " + join(stuck, "; "));
  }

 private:
  Runner make_runner(std::int32_t kind) const {
    Runner runner;
    const std::size_t slots = meetings_.slots.size();
    std::vector<std::int32_t> used(slots, 0);
    runner.first_use.resize(slots);
    std::int32_t ops = 0;
    for (const Pass& pass : at(program_.programs, kind).passes) {
      runner.first_op.push_back(ops);
      ops += count(at(program_.templates, pass.pass_template).ops);
      const TemplateIndex& index = at(meetings_.templates, pass.pass_template);
      for (std::size_t s = 0; s < slots; ++s) {
        runner.first_use[s].push_back(used[s]);
        used[s] += index.uses[s];
      }
    }
    runner.done.assign(static_cast<std::size_t>(ops), 0);
    for (std::size_t s = 0; s < slots; ++s) {
      runner.arrived.emplace_back(static_cast<std::size_t>(used[s]), 0);
    }
    return runner;
  }

  // The first unfinished operation of a stream, -1 at its end; moves the head past empty passes.
  std::int32_t head_op(std::int32_t kind, std::int32_t stream) {
    const std::vector<Pass>& passes = at(program_.programs, kind).passes;
    Runner::Head& head = at(at(runners_, kind).heads, stream);
    for (; head.pass < count(passes); ++head.pass, head.place = 0) {
      const std::int32_t t = at(passes, head.pass).pass_template;
      const std::vector<std::int32_t>& queue = at(at(meetings_.templates, t).queues, stream);
      if (head.place < count(queue)) {
        return at(queue, head.place);
      }
    }
    return -1;
  }

  bool can_start(std::int32_t kind, std::int32_t stream, std::int32_t op) {
    const Runner& runner = at(runners_, kind);
    const std::int32_t pass = at(runner.heads, stream).pass;
    const PassTemplate& t =
        at(program_.templates, at(at(program_.programs, kind).passes, pass).pass_template);
    const Op& what = at(t.ops, op);
    for (std::int32_t d = 0; d < what.dep_count; ++d) {
      if (!at(runner.done, at(runner.first_op, pass) + at(t.deps, what.first_dep + d))) {
        return false;
      }
    }
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(kStreamCount); ++s) {
      if (s != stream && (what.join & mask(static_cast<Stream>(s))) != 0) {
        const std::int32_t other = head_op(kind, s);
        const std::int32_t other_pass = at(runner.heads, s).pass;
        if (other >= 0 && (other_pass < pass || (other_pass == pass && other < op))) {
          return false;
        }
      }
    }
    return true;
  }

  // Marks the arrival of an operation that has started; true when all it meets have arrived.
  bool has_met(std::int32_t kind, std::int32_t pass, std::int32_t op) {
    const std::int32_t t = at(at(program_.programs, kind).passes, pass).pass_template;
    const TemplateIndex& index = at(meetings_.templates, t);
    const std::int32_t slot = at(index.slot, op);
    if (slot < 0) {
      return true;
    }
    Runner& runner = at(runners_, kind);
    const std::int32_t k = at(at(runner.first_use, slot), pass) + at(index.nth, op);
    at(at(runner.arrived, slot), k) = 1;
    const SlotUses& mine = at(at(meetings_.uses, kind), slot);
    return std::all_of(mine.partners.begin(), mine.partners.end(), [&](std::int32_t other) {
      return at(at(at(runners_, other).arrived, mine.partner_slot), k) != 0;
    });
  }

  // Runs a kind of rank until nothing of it can go on; true when anything ended.
  bool advance(std::int32_t kind) {
    bool any = false;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::int32_t s = 0; s < static_cast<std::int32_t>(kStreamCount); ++s) {
        for (std::int32_t op = head_op(kind, s); op >= 0; op = head_op(kind, s)) {
          Runner& runner = at(runners_, kind);
          Runner::Head& head = at(runner.heads, s);
          if (!can_start(kind, s, op) || !has_met(kind, head.pass, op)) {
            break;
          }
          at(runner.done, at(runner.first_op, head.pass) + op) = 1;
          ++head.place;
          moved = true;
        }
      }
      any = any || moved;
    }
    return any;
  }

  const Program& program_;
  const Meetings& meetings_;
  std::vector<Runner> runners_;
};

}  // namespace

std::string place_text(const Program& program, std::int32_t rank_program, std::int32_t pass,
                       std::int32_t op) {
  const Pass& where = at(at(program.programs, rank_program).passes, pass);
  const PassTemplate& t = at(program.templates, where.pass_template);
  return fmt::format("program {}, pass {} ({}, micro batch {}), operation {} ({})", rank_program,
                     pass, t.name, where.micro_batch, op, at(program.labels, at(t.ops, op).label));
}

void check_execution(const Program& program, const RankGrid& grid) {
  Meetings meetings;
  meetings.slots = all_slots(program);
  for (const PassTemplate& t : program.templates) {
    meetings.templates.push_back(index_template(program, t, meetings.slots));
  }
  for (const RankProgram& rank : program.programs) {
    meetings.uses.push_back(uses_of(program, meetings, rank));
  }
  for (std::int32_t s = 0; s < count(meetings.slots); ++s) {
    find_partners(program, grid, s, meetings);
  }
  check_meetings(program, meetings);
  Execution(program, meetings).run();
}

}  // namespace shardsim
