#include "analysis/compute_stream.h"

#include <algorithm>

#include "analysis/chain_index.h"
#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

class Cutter {
 public:
  Cutter(const TraceIndex& index, std::int32_t rank, std::vector<Piece>& pieces)
      : index_(index), rank_(rank), pieces_(pieces) {}

  void run() { explain_tail(run_from(0), index_.trace->step_s); }

  // Up to the end of the last operation, which it returns.
  double run_from(double now) {
    for (const std::int32_t op : index_.program_of(rank_).compute_ops) {
      const double start = std::max(now, index_.start_s(rank_, op));
      const double end = std::max(start, index_.end_s(rank_, op));
      explain_gap(op, now, start);
      if (index_.static_op(rank_, op).part < 0) {
        explain_op(op, start, end);
      }
      now = end;
    }
    return now;
  }

  void explain_until(std::int32_t op, double from) {
    const double end = index_.end_s(rank_, op);
    const double start = std::clamp(index_.start_s(rank_, op), from, end);
    explain_op(op, start, end);
    explain_gap(op, from, start);
  }

 private:
  void emit(Bin bin, double start, double end, std::int32_t op) {
    if (end > start) {
      pieces_.push_back({bin, start, end, op});
    }
  }

  // The part [from, to] of an operation that has been started on this rank.
  void explain_op(std::int32_t op, double from, double to) {
    const TraceOp& what = index_.static_op(rank_, op);
    if (!what.is_flow) {
      emit(bin_of(what.category), from, to, op);
      return;
    }
    const Meeting& meeting = index_.meeting(rank_, op);
    const TraceLane& lane = at(index_.trace->lanes, index_.lane_of(rank_, op));
    const std::int32_t last = at(lane.member_rank_class, meeting.last_member);
    const double begin = std::clamp(meeting.begin_s, from, to);
    const double alone_end = std::clamp(index_.alone_end_s(rank_, op), begin, to);
    emit(index_.stage(last) == index_.stage(rank_) ? Bin::wait : Bin::bubble, from, begin, op);
    emit(bin_of(what.category), begin, alone_end, op);
    emit(Bin::contention, alone_end, to, op);
  }

  // The idle time [from, to] that operation `op` of the compute stream ends.
  void explain_gap(std::int32_t op, double from, double to) {
    while (to > from) {
      op = index_.binding_predecessor(rank_, op);
      SHARDSIM_CHECK(op >= 0, "an operation without predecessors starts late");
      if (const std::int32_t part = index_.static_op(rank_, op).part; part >= 0) {
        op = explain_part(op, part, from, to);
        to = std::clamp(index_.start_s(rank_, op), from, to);
        continue;
      }
      const double start = std::clamp(index_.start_s(rank_, op), from, to);
      explain_op(op, start, to);
      to = start;
    }
  }

  // The operation that starts the chain of which `op` is a part.
  [[nodiscard]] std::int32_t head_of(std::int32_t op, const TracePart& part) const {
    return index_.pass_of(rank_, op).first_op +
           at(at(index_.trace->chains, part.chain).heads, part.rank);
  }

  // The part of [from, to] that lies within the chain; returns the operation that starts it.
  std::int32_t explain_part(std::int32_t op, std::int32_t number, double from, double to) {
    const TracePart& part = at(index_.trace->parts, number);
    const std::int32_t head = head_of(op, part);
    SHARDSIM_CHECK(!part.on_compute, "a gap of the compute stream lies within a part on it");
    for (const Piece& piece : at(index_.chains->parts, number).explained) {
      emit_inside(piece, index_.start_s(rank_, head), op, from, to);
    }
    return head;
  }

  // A piece of the chain that starts at `shift`, as far as it lies in [from, to].
  void emit_inside(const Piece& piece, double shift, std::int32_t op, double from, double to) {
    const double start = std::clamp(piece.start_s + shift, from, to);
    const double end = std::clamp(piece.end_s + shift, from, to);
    if (end > start) {
      pieces_.push_back({piece.bin, start, end, op, piece.op});
    }
  }

  struct InFlight {
    double begin_s = 0;
    double end_s = 0;
    std::int32_t op = 0;
    bool is_flow = false;
    const TemplateChain* chain = nullptr;  // operation `inside` of a chain that `op` starts
    std::int32_t inside = -1;
  };

  std::vector<InFlight> in_flight_after(double from) const {
    std::vector<InFlight> result;
    const std::int32_t ops = count(index_.program_of(rank_).pass_of_op);
    for (std::int32_t op = 0; op < ops; ++op) {
      if (index_.end_s(rank_, op) <= from || index_.static_op(rank_, op).part >= 0) {
        continue;
      }
      const bool is_flow = index_.static_op(rank_, op).is_flow;
      const double begin = is_flow ? index_.meeting(rank_, op).begin_s : index_.start_s(rank_, op);
      result.push_back({std::max(begin, from), index_.end_s(rank_, op), op, is_flow});
    }
    if (index_.chains != nullptr) {
      add_inside(from, result);
    }
    return result;
  }

  // Operations in flight inside chains.
  void add_inside(double from, std::vector<InFlight>& result) const {
    const std::int32_t program = at(index_.trace->ranks, rank_).program;
    for (const TracePass& pass : at(index_.trace->programs, program).passes) {
      for (const TemplateChain& held : at(index_.chains->of_template, pass.pass_template)) {
        const TraceIndex& inside = at(index_.chains->chains, held.chain).inside;
        const std::int32_t head = pass.first_op + held.head;
        const double shift = index_.start_s(rank_, head);
        if (shift + inside.trace->step_s <= from) {
          continue;
        }
        for (std::int32_t op = 0; op < count(at(inside.trace->ranks, held.rank).end_s); ++op) {
          const bool is_flow = inside.static_op(held.rank, op).is_flow;
          const double begin =
              is_flow ? inside.meeting(held.rank, op).begin_s : inside.start_s(held.rank, op);
          const double end = shift + inside.end_s(held.rank, op);
          if (end > from) {
            result.push_back({std::max(shift + begin, from), end, head, is_flow, &held, op});
          }
        }
      }
    }
  }

  void explain_flying(const InFlight& item, double from, double to) {
    if (item.chain == nullptr) {
      explain_op(item.op, from, to);
      return;
    }
    const double shift = index_.start_s(rank_, item.op);
    std::vector<Piece> inside;
    Cutter(at(index_.chains->chains, item.chain->chain).inside, item.chain->rank, inside)
        .explain_op(item.inside, from - shift, to - shift);
    for (const Piece& piece : inside) {
      emit_inside(piece, shift, item.op, from, to);
    }
  }

  // Flows explain before timers, then what ends last, then the lower operation.
  static bool explains_before(const InFlight& a, const InFlight& b) {
    if (a.is_flow != b.is_flow) {
      return a.is_flow;
    }
    return a.end_s != b.end_s ? a.end_s > b.end_s : a.op < b.op;
  }

  void explain_tail(double from, double to) {
    const std::vector<InFlight> flying = in_flight_after(from);
    std::vector<double> cuts{from, to};
    for (const InFlight& item : flying) {
      cuts.push_back(std::clamp(item.begin_s, from, to));
      cuts.push_back(std::clamp(item.end_s, from, to));
    }
    std::sort(cuts.begin(), cuts.end());
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const InFlight* best = nullptr;
      for (const InFlight& item : flying) {
        if (item.begin_s <= cuts[i] && item.end_s >= cuts[i + 1] &&
            (best == nullptr || explains_before(item, *best))) {
          best = &item;
        }
      }
      if (best == nullptr) {
        emit(Bin::wait, cuts[i], cuts[i + 1], -1);
      } else {
        explain_flying(*best, cuts[i], cuts[i + 1]);
      }
    }
  }

  const TraceIndex& index_;
  std::int32_t rank_;
  std::vector<Piece>& pieces_;
};

}  // namespace

Bin bin_of(Category category) {
  switch (category) {
    case Category::compute:
      return Bin::compute;
    case Category::recompute:
      return Bin::recompute;
    case Category::optimizer:
      return Bin::optimizer;
    case Category::tp:
      return Bin::tp;
    case Category::sp:
      return Bin::sp;
    case Category::cp:
      return Bin::cp;
    case Category::ep:
      return Bin::ep;
    case Category::pp:
      return Bin::pp;
    case Category::dp:
      return Bin::dp;
    case Category::other:
      return Bin::other;
  }
  SHARDSIM_CHECK(false, "category without a bin");
}

void cut_compute_stream(const TraceIndex& index, std::int32_t rank_class,
                        std::vector<Piece>& pieces) {
  pieces.clear();
  Cutter(index, rank_class, pieces).run();
}

void cut_from(const TraceIndex& index, std::int32_t rank_class, double from,
              std::vector<Piece>& pieces) {
  Cutter(index, rank_class, pieces).run_from(from);
}

void explain_until(const TraceIndex& index, std::int32_t rank_class, std::int32_t op, double from,
                   std::vector<Piece>& pieces) {
  Cutter(index, rank_class, pieces).explain_until(op, from);
}

}  // namespace shardsim
