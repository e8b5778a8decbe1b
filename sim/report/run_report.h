// Everything that a writer needs to show one run: a plain value, complete in itself.
//
// make_run_report: what was asked (RunSpec, Program), what it means (Analysis), how it was replayed
// (Trace)
// -> RunReport. Times in seconds, sizes in bytes, bandwidths in bytes per second and direction.
// Nothing here depends on the clock, the host or the path of a file.
//   RunReport report = make_run_report(run, program, analysis, trace, node_of_rank);
//   std::string text = write_text(report);   // report/writers/writers.h
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "base/ids.h"
#include "spec/run_spec.h"
#include "trace/trace.h"

namespace shardsim {

// The kind of a link, read from its name.
enum class LinkKind { none, nvlink, pcie, nic, switch_link };
[[nodiscard]] LinkKind link_kind(const std::string& link_name);
[[nodiscard]] std::string name(LinkKind kind);  // "NVLink", "NIC", ...; "none" for none

// The quoted bandwidth of one link of that kind and direction, before efficiency; 0 for switch
// links, which the cluster's file does not quote.
[[nodiscard]] BytesPerSecond quoted_bandwidth(const ClusterSpec& cluster, LinkKind kind);

// Where the ranks of one kind of group sit, and what its collectives did on one GPU in a step.
struct GroupUse {
  std::string group;                // "tp", "dp", "pp"
  std::int64_t ranks = 0;           // of one group
  std::int64_t ranks_per_node = 0;  // most ranks of one group that share a node
  std::int64_t nodes = 0;           // most nodes that one group spans
  double count = 0;      // collectives per step on one GPU, mean; phases of one count once
  double bytes = 0;      // their messages together (full buffers, as nccl-tests counts)
  double time_s = 0;     // in flight
  double exposed_s = 0;  // of it, while the compute stream waited
  std::vector<std::string> algorithms;  // distinct, most time first
  std::string bound_link;               // that bounds most of the time
  LinkKind bound_kind = LinkKind::none;
  BytesPerSecond bound{};   // what a large transfer reaches of it
  BytesPerSecond quoted{};  // its bandwidth as the vendor quotes it, one direction
};

struct RunReport {
  std::string name;  // of the run among others; empty for a single one
  RunSpec run;
  Analysis analysis;
  ReplayCounts events;
  std::vector<std::string> labels;    // PathSegment::label
  std::vector<std::string> links;     // PathSegment::link
  std::vector<Rank> representatives;  // PathSegment::rank_class
  std::vector<GroupUse> groups;       // most time first
  std::vector<std::string> assumptions;
  std::vector<std::string> warnings;
};

// node_of_rank: the physical node of each rank of the job.
[[nodiscard]] RunReport make_run_report(const RunSpec& run, const Program& program,
                                        Analysis analysis, const Trace& trace,
                                        const std::vector<NodeId>& node_of_rank);

// How the communicating groups of the run lie on the nodes, in the order of their time.
[[nodiscard]] std::vector<GroupUse> group_uses(const RunSpec& run, const Program& program,
                                               const Analysis& analysis,
                                               const std::vector<NodeId>& node_of_rank);

// The time on the critical path that one stage, layer or bounding link answers for.
struct StageShare {
  std::int32_t stage = 0;
  double seconds = 0;
};
struct LayerShare {
  std::int32_t stage = 0;
  std::int32_t chunk = 0;   // of the stage
  std::int32_t layer = -1;  // within the chunk, -1 = what belongs to no layer
  double seconds = 0;
};
struct LinkShare {
  std::string link;
  double seconds = 0;
};
[[nodiscard]] std::vector<StageShare> path_by_stage(const RunReport& report);  // by stage
[[nodiscard]] std::vector<LayerShare> path_by_layer(const RunReport& report);  // by stage, chunk
[[nodiscard]] std::vector<LinkShare> path_by_link(const RunReport& report);    // most time first

}  // namespace shardsim
