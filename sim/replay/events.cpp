// The event loop: counters of predecessors still to come, arrivals at lanes, timers and flows.
//
// What takes a fixed time once it has started (kernels, latencies, flows that nothing contends)
// ends at a moment that is known when its last predecessor's end is: such ends are told at once,
// ahead of SimGrid's clock, and cost no event there. Only flows that contend wait for the clock:
// they start when it has come to their beginning, and SimGrid finds when they end.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <simgrid/kernel/Timer.hpp>
#include <span>
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
  std::int64_t share = 1;         // common divisor of its weights, taken out of `route`
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
    const auto uses = std::span(folded.uses)
                          .subspan(static_cast<std::size_t>(lane.first_use),
                                   static_cast<std::size_t>(lane.use_count));
    std::int64_t divisor = 0;
    for (const LinkUse& use : uses) {
      divisor = std::gcd(divisor, use.weight);
    }
    plan.share = std::max<std::int64_t>(divisor, 1);
    for (const LinkUse& use : uses) {
      plan.route.push_back({use.link, use.weight / plan.share});
    }
  }
  return plans;
}

// Payloads are integers: the largest amount of share 1 becomes about 2^62, so that rounding is
// below the last bit of a double for amounts down to 1/512 of it, and below 1e-12 of any down to
// 1e-6 of it.
double payload_scale(const Folded& folded, const std::vector<OpGraph>& graphs,
                     const std::vector<LanePlan>& lanes) {
  double largest = 1.0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i].contended || lanes[i].flow_count == 0) {
      continue;
    }
    const LaneMember& member = at(folded.members, folded.lanes[i].first_member);
    const OpGraph& graph = at(graphs, at(folded.ranks, member.rank_class).program);
    for (std::int32_t k = 0; k < lanes[i].flow_count; ++k) {
      const std::int32_t op = at(graph.slot_ops, at(graph.first_slot_op, member.slot) + k);
      largest = std::max(largest, at(graph.ops, op)->amount * static_cast<double>(lanes[i].share));
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
        scale_(payload_scale(folded, graphs_, lanes_)),
        network_(row_capacities(folded), scale_) {
    prepare_ranks();
    prepare_flows();
    network_.on_flow_end([this](std::int64_t flow) {
      end_flow(static_cast<std::int32_t>(flow), network_.now_s());
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
      begin_s_.insert(begin_s_.end(), flows, 0.0);
      missing_.insert(missing_.end(), flows, folded_.lanes[lane].member_count);
    }
  }

  void start_sources() {
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

  // Operations end one by one here and never inside start(), so long chains do not recurse. The
  // last to end goes first: that stays with one rank as long as it can.
  void work_off() {
    while (!ended_.empty()) {
      const RankOp ended = ended_.back();
      ended_.pop_back();
      const OpGraph& graph = graph_of(ended.rank);
      const std::size_t first = at(first_pending_, ended.rank);
      RankTimes& times = at(times_.ranks, ended.rank);
      const double end_s = at(times.end_s, ended.op);
      const std::int32_t last = at(graph.first_successor, ended.op + 1);
      for (std::int32_t i = at(graph.first_successor, ended.op); i < last; ++i) {
        const std::int32_t successor = at(graph.successors, i);
        double& start_s = at(times.start_s, successor);
        start_s = std::max(start_s, end_s);
        if (--pending_[first + static_cast<std::size_t>(successor)] == 0) {
          start({ended.rank, successor});
        }
      }
    }
  }

  // REQUIRES: all predecessors have told their ends.
  void start(RankOp which) {
    const LoweredOp& op = *at(graph_of(which.rank).ops, which.op);
    const double start_s = at(at(times_.ranks, which.rank).start_s, which.op);
    if (op.is_flow) {
      arrive(which, op, start_s);
      return;
    }
    // The host launches kernels at its own pace, whatever the GPU's speed.
    const double speed = op.stream == Stream::host ? 1.0 : at(folded_.ranks, which.rank).speed;
    const double duration = std::max(op.duration.value() / speed, 0.0);
    times_.timers += duration > 0 ? 1 : 0;
    end(which, start_s + duration);
  }

  void end(RankOp which, double end_s) {
    at(at(times_.ranks, which.rank).end_s, which.op) = end_s;
    --left_;
    ended_.push_back(which);
  }

  void arrive(RankOp which, const LoweredOp& op, double arrival_s) {
    const std::int32_t lane =
        at(folded_.slot_lanes, at(folded_.ranks, which.rank).first_slot + op.slot);
    const LanePlan& plan = at(lanes_, lane);
    const std::int32_t flow = plan.first_flow + at(graph_of(which.rank).use, which.op);
    double& begin_s = at(begin_s_, flow);
    begin_s = std::max(begin_s, arrival_s);
    if (--at(missing_, flow) > 0) {
      return;
    }
    const double latency =
        op.duration.value() + op.steps * at(folded_.lanes, lane).hop_latency.value();
    const bool contended = plan.contended && op.amount > 0;
    const double moving = contended || op.amount <= 0 ? 0.0 : op.amount / plan.pace_Bps;
    const double wait = std::max(latency + moving, 0.0);
    times_.timers += wait > 0 ? 1 : 0;
    if (contended) {
      move_at(begin_s + wait, flow, op.amount);
    } else {
      end_flow(flow, begin_s + wait);
    }
  }

  // The bytes of a flow start to move when the clock has come to `start_s`.
  void move_at(double start_s, std::int32_t flow, double amount) {
    ++times_.flows;
    const LanePlan& plan = at(lanes_, at(lane_of_flow_, flow));
    const double scaled = std::round(amount * static_cast<double>(plan.share) * scale_);
    const auto payload = std::max<std::uint64_t>(static_cast<std::uint64_t>(scaled), 1);
    const auto move = [this, flow, payload, &plan] {
      network_.start_flow(plan.route, payload, plan.share, flow);
    };
    if (start_s <= network_.now_s()) {
      move();
    } else {
      simgrid::kernel::timer::Timer::set(start_s, move);
    }
  }

  void end_flow(std::int32_t flow, double end_s) {
    const std::int32_t lane = at(lane_of_flow_, flow);
    const std::int32_t k = flow - at(lanes_, lane).first_flow;
    const LaneClass& lane_class = at(folded_.lanes, lane);
    for (std::int32_t m = 0; m < lane_class.member_count; ++m) {
      const LaneMember& member = at(folded_.members, lane_class.first_member + m);
      const OpGraph& graph = graph_of(member.rank_class);
      end({member.rank_class, at(graph.slot_ops, at(graph.first_slot_op, member.slot) + k)}, end_s);
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
  std::vector<double> begin_s_;        // per flow: the latest arrival so far
  std::vector<RankOp> ended_;          // whose successors have not been told yet
  std::int64_t left_ = 0;              // operations that have not ended
};

}  // namespace

Times run_events(const Folded& folded) { return EventLoop(folded).run(); }

}  // namespace shardsim
