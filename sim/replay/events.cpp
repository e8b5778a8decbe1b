// The event loop: counters of predecessors still to come, arrivals at lanes, timers and flows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <simgrid/kernel/Timer.hpp>
#include <string>
#include <utility>

#include "base/errors.h"
#include "fold/private_lanes.h"
#include "replay/network.h"
#include "replay/op_graph.h"
#include "replay/stuck.h"
#include "replay/times.h"

namespace shardsim {
namespace {

// How a lane's flows take place.
struct LanePlan {
  std::int32_t first_flow = 0;  // flow k of the lane has number first_flow + k
  std::int32_t flow_count = 0;
  bool contended = false;         // a flow of SimGrid; otherwise a timer at `pace`
  double pace_Bps = 0;            // infinite when it crosses no link
  std::vector<RouteUse> route{};  // contended lanes
};

std::vector<LanePlan> plan_lanes(const Folded& folded, const std::vector<OpGraph>& graphs) {
  const std::vector<LanePace> paces = lane_paces(folded);
  std::vector<LanePlan> plans(folded.lanes.size());
  std::int32_t flows = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const LaneClass& lane = folded.lanes[i];
    LanePlan& plan = plans[i];
    plan.first_flow = flows;
    if (lane.member_count > 0) {
      const LaneMember& member = at(folded.members, lane.first_member);
      const OpGraph& graph = at(graphs, at(folded.ranks, member.rank_class).program);
      plan.flow_count =
          at(graph.first_slot_op, member.slot + 1) - at(graph.first_slot_op, member.slot);
    }
    flows += plan.flow_count;
    plan.contended = !paces[i].is_private;
    plan.pace_Bps = paces[i].pace_Bps;
    for (std::int32_t u = 0; u < lane.use_count; ++u) {
      const LinkUse& use = at(folded.uses, lane.first_use + u);
      plan.route.push_back({use.link, use.weight});
    }
  }
  return plans;
}

// Payloads are integers: the largest amount becomes about 2^62, so that rounding is below the last
// bit of a double for amounts down to 1/512 of it, and below 1e-12 of any down to 1e-6 of it.
double payload_scale(const Folded& folded) {
  double largest = 1.0;
  for (const LoweredTemplate& lowered : folded.templates) {
    for (const LoweredOp& op : lowered.ops) {
      largest = std::max(largest, op.amount);
    }
  }
  return std::exp2(61.0 - std::floor(std::log2(largest)));
}

std::vector<OpGraph> make_graphs(const Folded& folded) {
  std::vector<OpGraph> graphs;
  graphs.reserve(folded.programs.size());
  for (const LoweredProgram& program : folded.programs) {
    graphs.push_back(make_op_graph(folded, program));
  }
  return graphs;
}

std::vector<BytesPerSecond> row_capacities(const Folded& folded) {
  std::vector<BytesPerSecond> capacities;
  capacities.reserve(folded.rows.size());
  for (const LinkRow& row : folded.rows) {
    capacities.push_back(row.capacity);
  }
  return capacities;
}

class EventLoop {
 public:
  explicit EventLoop(const Folded& folded)
      : folded_(folded),
        graphs_(make_graphs(folded)),
        lanes_(plan_lanes(folded, graphs_)),
        scale_(payload_scale(folded)),
        network_(row_capacities(folded), scale_) {
    prepare_ranks();
    prepare_flows();
    network_.on_flow_end([this](std::int64_t flow) {
      now_ = network_.now_s();
      end_flow(static_cast<std::int32_t>(flow));
      work_off();
    });
  }

  Times run() {
    simgrid::kernel::timer::Timer::set(0.0, [this] { start_sources(); });
    network_.run();
    check_all_ended();
    return std::move(times_);
  }

 private:
  struct RankOp {
    std::int32_t rank = 0;
    std::int32_t op = 0;
  };

  [[nodiscard]] const OpGraph& graph_of(std::int32_t rank) const {
    return at(graphs_, at(folded_.ranks, rank).program);
  }

  void prepare_ranks() {
    const std::size_t ranks = folded_.ranks.size();
    times_.ranks.resize(ranks);
    first_pending_.reserve(ranks + 1);
    std::size_t total = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const OpGraph& graph = graph_of(static_cast<std::int32_t>(rank));
      first_pending_.push_back(total);
      total += graph.ops.size();
      times_.ranks[rank].start_s.assign(graph.ops.size(), 0.0);
      times_.ranks[rank].end_s.assign(graph.ops.size(), kNotEnded);
    }
    pending_.reserve(total);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const OpGraph& graph = graph_of(static_cast<std::int32_t>(rank));
      pending_.insert(pending_.end(), graph.predecessors.begin(), graph.predecessors.end());
    }
    left_ = static_cast<std::int64_t>(total);
  }

  void prepare_flows() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const auto flows = static_cast<std::size_t>(lanes_[lane].flow_count);
      lane_of_flow_.insert(lane_of_flow_.end(), flows, static_cast<std::int32_t>(lane));
      missing_.insert(missing_.end(), flows, folded_.lanes[lane].member_count);
    }
  }

  void start_sources() {
    now_ = network_.now_s();
    for (std::int32_t rank = 0; rank < count(folded_.ranks); ++rank) {
      const OpGraph& graph = graph_of(rank);
      for (std::int32_t op = 0; op < count(graph.predecessors); ++op) {
        if (at(graph.predecessors, op) == 0) {
          start({rank, op});
        }
      }
    }
    work_off();
  }

  // Operations end one by one here and never inside start(), so chains of zero-length operations do
  // not recurse.
  void work_off() {
    while (next_ended_ < ended_.size()) {
      const RankOp ended = ended_[next_ended_++];
      const OpGraph& graph = graph_of(ended.rank);
      const std::size_t first = at(first_pending_, ended.rank);
      const std::int32_t last = at(graph.first_successor, ended.op + 1);
      for (std::int32_t i = at(graph.first_successor, ended.op); i < last; ++i) {
        const std::int32_t successor = at(graph.successors, i);
        if (--pending_[first + static_cast<std::size_t>(successor)] == 0) {
          start({ended.rank, successor});
        }
      }
    }
    ended_.clear();
    next_ended_ = 0;
  }

  void start(RankOp which) {
    const LoweredOp& op = *at(graph_of(which.rank).ops, which.op);
    at(at(times_.ranks, which.rank).start_s, which.op) = now_;
    if (op.is_flow) {
      arrive(which, op);
      return;
    }
    // The host launches kernels at its own pace, whatever the GPU's speed.
    const double speed = op.stream == Stream::host ? 1.0 : at(folded_.ranks, which.rank).speed;
    const double duration = op.duration.value() / speed;
    if (duration <= 0) {
      end(which);
      return;
    }
    ++times_.timers;
    simgrid::kernel::timer::Timer::set(now_ + duration, [this, which] {
      now_ = network_.now_s();
      end(which);
      work_off();
    });
  }

  void end(RankOp which) {
    at(at(times_.ranks, which.rank).end_s, which.op) = now_;
    --left_;
    ended_.push_back(which);
  }

  void arrive(RankOp which, const LoweredOp& op) {
    const std::int32_t lane =
        at(folded_.slot_lanes, at(folded_.ranks, which.rank).first_slot + op.slot);
    const LanePlan& plan = at(lanes_, lane);
    const std::int32_t flow = plan.first_flow + at(graph_of(which.rank).use, which.op);
    if (--at(missing_, flow) > 0) {
      return;
    }
    const double latency =
        op.duration.value() + op.steps * at(folded_.lanes, lane).hop_latency.value();
    const bool contended = plan.contended && op.amount > 0;
    const double moving = contended || op.amount <= 0 ? 0.0 : op.amount / plan.pace_Bps;
    after(latency + moving, flow, contended ? op.amount : 0.0);
  }

  // The flow ends, or when it contends its bytes start to move, after `wait` seconds.
  void after(double wait, std::int32_t flow, double contended_amount) {
    if (wait <= 0) {
      move_or_end(flow, contended_amount);
      return;
    }
    ++times_.timers;
    simgrid::kernel::timer::Timer::set(now_ + wait, [this, flow, contended_amount] {
      now_ = network_.now_s();
      move_or_end(flow, contended_amount);
      work_off();
    });
  }

  void move_or_end(std::int32_t flow, double contended_amount) {
    if (contended_amount <= 0) {
      end_flow(flow);
      return;
    }
    ++times_.flows;
    const auto payload = static_cast<std::uint64_t>(std::round(contended_amount * scale_));
    network_.start_flow(at(lanes_, at(lane_of_flow_, flow)).route,
                        std::max<std::uint64_t>(payload, 1), flow);
  }

  void end_flow(std::int32_t flow) {
    const std::int32_t lane = at(lane_of_flow_, flow);
    const std::int32_t k = flow - at(lanes_, lane).first_flow;
    const LaneClass& lane_class = at(folded_.lanes, lane);
    for (std::int32_t m = 0; m < lane_class.member_count; ++m) {
      const LaneMember& member = at(folded_.members, lane_class.first_member + m);
      const OpGraph& graph = graph_of(member.rank_class);
      end({member.rank_class, at(graph.slot_ops, at(graph.first_slot_op, member.slot) + k)});
    }
  }

  void check_all_ended() const {
    SHARDSIM_CHECK(left_ == 0, describe_stuck(folded_, graphs_, times_, pending_, first_pending_));
  }

  const Folded& folded_;
  std::vector<OpGraph> graphs_;  // per program
  std::vector<LanePlan> lanes_;
  double scale_ = 1.0;
  Network network_;
  Times times_;
  std::vector<std::size_t> first_pending_;  // per rank class
  std::vector<std::uint16_t> pending_;      // per operation of each rank class
  std::vector<std::int32_t> lane_of_flow_;
  std::vector<std::int32_t> missing_;  // per flow: members that have not arrived
  std::vector<RankOp> ended_;          // whose successors have not been told yet
  std::size_t next_ended_ = 0;
  std::int64_t left_ = 0;  // operations that have not ended
  double now_ = 0;
};

}  // namespace

Times run_events(const Folded& folded) { return EventLoop(folded).run(); }

}  // namespace shardsim
