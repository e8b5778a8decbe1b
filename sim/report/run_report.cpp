#include "report/run_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/errors.h"
#include "base/rounding.h"
#include "base/text.h"
#include "report/assumptions.h"
#include "report/traffic.h"
#include "sharding/rank_grid.h"

namespace shardsim {

LinkKind link_kind(const std::string& link_name) {
  if (link_name.empty()) return LinkKind::none;
  if (link_name.find(".nvlink") != std::string::npos) return LinkKind::nvlink;
  if (link_name.find(".pcie") != std::string::npos) return LinkKind::pcie;
  if (link_name.find(".nic") != std::string::npos) return LinkKind::nic;
  return LinkKind::switch_link;
}

std::string name(LinkKind kind) {
  switch (kind) {
    case LinkKind::none:
      return "none";
    case LinkKind::nvlink:
      return "NVLink";
    case LinkKind::pcie:
      return "PCIe";
    case LinkKind::nic:
      return "NIC";
    case LinkKind::switch_link:
      return "switch link";
  }
  SHARDSIM_CHECK(false, "unknown link kind");
}

BytesPerSecond quoted_bandwidth(const ClusterSpec& cluster, LinkKind kind) {
  if (kind == LinkKind::nvlink) return cluster.node.nvlink.bandwidth_per_direction;
  if (kind == LinkKind::nic) return cluster.node.nic.bandwidth_per_direction;
  if (kind == LinkKind::pcie && cluster.node.pcie) {
    return cluster.node.pcie->bandwidth_per_direction;
  }
  return BytesPerSecond{};
}

namespace {

// The axes of a group's name ("tp", "cp-dp"); empty when it names none of the grid's.
AxisSet axes_of(const std::string& group) {
  AxisSet axes = 0;
  for (const std::string& word : split(group, '-')) {
    for (std::size_t i = 0; i < kAxisCount; ++i) {
      const Axis axis = static_cast<Axis>(i);
      if (word == name(axis)) axes = static_cast<AxisSet>(axes | axis_set(axis));
    }
  }
  return axes;
}

// Fills ranks, ranks_per_node and nodes.
void place(GroupUse& use, const RankGrid& grid, const std::vector<NodeId>& node_of_rank) {
  const AxisSet axes = axes_of(use.group);
  if (axes == 0) return;
  use.ranks = grid.group_size(axes);
  for (std::int32_t group = 0; group < grid.group_count(axes); ++group) {
    std::map<NodeId, std::int64_t> on_node;
    for (Rank rank : grid.members(group, axes)) ++on_node[at(node_of_rank, rank)];
    use.nodes = std::max(use.nodes, static_cast<std::int64_t>(on_node.size()));
    for (const auto& [node, ranks] : on_node) {
      use.ranks_per_node = std::max(use.ranks_per_node, ranks);
    }
  }
}

// The link that bounds most of the group's time.
void name_bound(GroupUse& use, const RunSpec& run, const Analysis& analysis) {
  std::map<LinkKind, double> time_by_kind;
  for (const CollectiveUse& one : analysis.collectives) {
    if (one.group == use.group && !one.bound_link.empty()) {
      time_by_kind[link_kind(one.bound_link)] += one.time_s;
    }
  }
  double most = -1;
  for (const auto& [kind, time] : time_by_kind) {
    if (time > most) {
      most = time;
      use.bound_kind = kind;
    }
  }
  for (const CollectiveUse& one : analysis.collectives) {
    if (one.group == use.group && link_kind(one.bound_link) == use.bound_kind) {
      use.bound_link = one.bound_link;
      use.bound = one.bound;
      break;
    }
  }
  use.quoted = quoted_bandwidth(run.cluster, use.bound_kind);
}

void add(GroupUse& use, const CollectiveUse& one) {
  use.time_s += one.time_s;
  use.exposed_s += one.exposed_s;
  if (std::find(use.algorithms.begin(), use.algorithms.end(), one.algorithm) ==
      use.algorithms.end()) {
    use.algorithms.push_back(one.algorithm);
  }
}

// No GPU computes faster than its peak.
void warn_of_rates(RunReport& report) {
  const Rates& rates = report.analysis.rates;
  if (rates.mfu > 1) {
    report.warnings.push_back("MFU is " + format_percent(rates.mfu) + " of the " + rates.peak_name +
                              " peak, " + format_flops(rates.peak) +
                              ": more than the GPU can do; look at its peak and efficiencies");
  }
}

}  // namespace

std::vector<GroupUse> group_uses(const RunSpec& run, const Program& program,
                                 const Analysis& analysis,
                                 const std::vector<NodeId>& node_of_rank) {
  std::vector<GroupUse> uses;
  for (const CollectiveUse& one : analysis.collectives) {
    auto found = std::find_if(uses.begin(), uses.end(),
                              [&](const GroupUse& use) { return use.group == one.group; });
    if (found == uses.end()) {
      uses.emplace_back();
      uses.back().group = one.group;
      found = std::prev(uses.end());
    }
    add(*found, one);
  }
  const RankGrid grid(run.parallel);
  const std::vector<GroupTraffic> traffic = group_traffic(program);
  for (GroupUse& use : uses) {
    for (const GroupTraffic& row : traffic) {
      if (row.group != use.group) continue;
      use.count = row.count;
      use.bytes = row.bytes;
    }
    place(use, grid, node_of_rank);
    name_bound(use, run, analysis);
  }
  std::stable_sort(uses.begin(), uses.end(), [](const GroupUse& a, const GroupUse& b) {
    return without_rounding(a.time_s) > without_rounding(b.time_s);
  });
  return uses;
}

RunReport make_run_report(const RunSpec& run, const Program& program, Analysis analysis,
                          const Trace& trace, const std::vector<NodeId>& node_of_rank) {
  SHARDSIM_CHECK(static_cast<std::int64_t>(node_of_rank.size()) == run.gpus,
                 "one node for each rank");
  RunReport report;
  report.run = run;
  report.analysis = std::move(analysis);
  report.events = trace.counts;
  report.labels = trace.labels;
  for (const TraceRank& rank : trace.ranks) report.representatives.push_back(rank.representative);
  for (const TraceLink& link : trace.links) report.links.push_back(link.name);
  report.groups = group_uses(run, program, report.analysis, node_of_rank);
  report.assumptions = assumptions_of(run);
  report.warnings = run.warnings;
  warn_of_rates(report);
  return report;
}

std::vector<StageShare> path_by_stage(const RunReport& report) {
  std::map<std::int32_t, double> by_stage;
  for (const PathSegment& segment : report.analysis.critical_path.segments) {
    by_stage[segment.stage] += segment.end_s - segment.start_s;
  }
  std::vector<StageShare> rows;
  for (const auto& [stage, seconds] : by_stage) rows.push_back({stage, seconds});
  return rows;
}

std::vector<LayerShare> path_by_layer(const RunReport& report) {
  std::map<std::array<std::int32_t, 3>, double> by_layer;
  for (const PathSegment& segment : report.analysis.critical_path.segments) {
    by_layer[{segment.stage, segment.chunk, segment.layer}] += segment.end_s - segment.start_s;
  }
  std::vector<LayerShare> rows;
  for (const auto& [place, seconds] : by_layer) {
    rows.push_back({place[0], place[1], place[2], seconds});
  }
  return rows;
}

std::vector<LinkShare> path_by_link(const RunReport& report) {
  std::map<std::int32_t, double> by_link;
  for (const PathSegment& segment : report.analysis.critical_path.segments) {
    if (segment.link >= 0) by_link[segment.link] += segment.end_s - segment.start_s;
  }
  std::map<std::string, double> by_name;
  for (const auto& [link, seconds] : by_link) by_name[at(report.links, link)] += seconds;
  std::vector<LinkShare> rows;
  for (const auto& [link, seconds] : by_name) rows.push_back({link, seconds});
  std::stable_sort(rows.begin(), rows.end(), [](const LinkShare& a, const LinkShare& b) {
    return without_rounding(a.seconds) > without_rounding(b.seconds);
  });
  return rows;
}

}  // namespace shardsim
