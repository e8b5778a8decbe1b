#include "workload/check_meetings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

SlotKey slot_key(const Communication& c) {
  return {.group = c.group,
          .stage_offset = c.stage_offset,
          .end = c.group == 0 ? c.primitive : Primitive::none,
          .end_stages_only = c.end_stages_only,
          .neighbours = c.neighbours,
          .strided = c.strided,
          .mirrored_stages = c.mirrored_stages,
          .channel = c.channel};
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

// Kinds of ranks in each group of a collective's slot.
std::vector<std::vector<std::int32_t>> kinds_of_groups(const Program& program, const RankGrid& grid,
                                                       const SlotKey& key) {
  const std::int32_t stages = grid.size(Axis::pp);
  const std::int32_t parts = key.mirrored_stages ? stages : 1;
  std::vector<std::vector<std::int32_t>> kinds(
      static_cast<std::size_t>(grid.group_count(key.group) * parts));
  for (Rank rank = 0; rank < grid.ranks(); ++rank) {
    const std::int32_t stage = grid.coordinate(rank, Axis::pp);
    if (key.end_stages_only && stage != 0 && stage != stages - 1) {
      continue;
    }
    const std::int32_t part = key.mirrored_stages ? std::min(stage, stages - 1 - stage) : 0;
    std::vector<std::int32_t>& group = at(kinds, grid.group_of(rank, key.group) * parts + part);
    const std::int32_t kind = at(program.program_of_rank, rank);
    if (std::find(group.begin(), group.end(), kind) == group.end()) {
      group.push_back(kind);
    }
  }
  return kinds;
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
    for (const std::vector<std::int32_t>& group : kinds_of_groups(program, grid, key)) {
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

}  // namespace

std::string place_text(const Program& program, std::int32_t rank_program, std::int32_t pass,
                       std::int32_t op) {
  const Pass& where = at(at(program.programs, rank_program).passes, pass);
  const PassTemplate& t = at(program.templates, where.pass_template);
  return fmt::format("program {}, pass {} ({}, micro batch {}), operation {} ({})", rank_program,
                     pass, t.name, where.micro_batch, op, at(program.labels, at(t.ops, op).label));
}

Meetings find_meetings(const Program& program, const RankGrid& grid) {
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
  return meetings;
}

void check_meetings(const Program& program, const Meetings& meetings) {
  for (std::int32_t kind = 0; kind < count(meetings.uses); ++kind) {
    for (const SlotUses& mine : at(meetings.uses, kind)) {
      if (mine.uses.empty()) {
        continue;
      }
      const std::string first =
          place_text(program, kind, mine.uses.front().pass, mine.uses.front().op);
      SHARDSIM_CHECK(mine.partner_slot >= 0 && !mine.partners.empty(),
                     first + " has nobody at its other end");
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

}  // namespace shardsim
