#include "workload/check_execution.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/ids.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kShown = 12;  // stuck operations that a message names

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
    const std::size_t all = stuck.size();
    stuck.resize(std::min(all, kShown));
    SHARDSIM_CHECK(all == 0, fmt::format("{} operations wait for ever, among them {}", all,
                                         join(stuck, "; ")));
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

void check_execution(const Program& program, const Meetings& meetings) {
  Execution(program, meetings).run();
}

}  // namespace shardsim
