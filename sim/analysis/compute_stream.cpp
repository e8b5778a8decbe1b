#include "analysis/compute_stream.h"

#include <algorithm>

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

class Cutter {
 public:
  Cutter(const TraceIndex& index, std::int32_t rank, std::vector<Piece>& pieces)
      : index_(index), rank_(rank), pieces_(pieces) {}

  void run() {
    double now = 0;
    for (const std::int32_t op : index_.program_of(rank_).compute_ops) {
      const double start = std::max(now, index_.start_s(rank_, op));
      const double end = std::max(start, index_.end_s(rank_, op));
      explain_gap(op, now, start);
      explain_op(op, start, end);
      now = end;
    }
    explain_tail(now, index_.trace->step_s);
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
      const double start = std::clamp(index_.start_s(rank_, op), from, to);
      explain_op(op, start, to);
      to = start;
    }
  }

  struct InFlight {
    double begin_s = 0;
    double end_s = 0;
    std::int32_t op = 0;
    bool is_flow = false;
  };

  std::vector<InFlight> in_flight_after(double from) const {
    std::vector<InFlight> result;
    const std::int32_t ops = count(index_.program_of(rank_).pass_of_op);
    for (std::int32_t op = 0; op < ops; ++op) {
      if (index_.end_s(rank_, op) <= from) {
        continue;
      }
      const bool is_flow = index_.static_op(rank_, op).is_flow;
      const double begin = is_flow ? index_.meeting(rank_, op).begin_s : index_.start_s(rank_, op);
      result.push_back({std::max(begin, from), index_.end_s(rank_, op), op, is_flow});
    }
    return result;
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
        explain_op(best->op, cuts[i], cuts[i + 1]);
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

}  // namespace shardsim
