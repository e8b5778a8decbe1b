// The report of one run as JSON. Keys, in this order:
//   step_time_s tokens_per_s tokens_per_s_per_gpu model_tflops_per_gpu mfu hfu flops_convention
//   peak_flop_per_s peak gpus layout{} model{} perturbations[] memory{} breakdown{}
//   breakdown_per_stage[] critical_path{by_category{} by_stage[] by_layer[] by_link[] segments[]}
//   groups[] collectives[] links[] events{} assumptions[] warnings[]
// Breakdowns have compute_s recompute_s optimizer_s tp_s sp_s cp_s ep_s pp_s dp_s bubble_s wait_s
// contention_s other_s. Indices that do not apply (the layer of an all-reduce of gradients) are
// null. Of more than 100,000 segments of the critical path, those in the middle are one row
// `left_out`.
#include <algorithm>

#include "report/writers/json_parts.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

Json stages_json(const std::vector<Breakdown>& stages) {
  Json out = Json::array();
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    Json row = Json::object();
    row["stage"] = stage;
    row.update(breakdown_json(stages[stage]));
    out.push_back(std::move(row));
  }
  return out;
}

Json segment_json(const PathSegment& segment, const RunReport& report) {
  Json out = Json::object();
  out["start_s"] = finite(segment.start_s);
  out["end_s"] = finite(segment.end_s);
  out["contention_s"] = finite(segment.contention_s);
  out["category"] = std::string(name(segment.bin));
  out["stage"] = segment.stage;
  out["rank"] = at(report.representatives, segment.rank_class);
  out["micro_batch"] = or_null(segment.micro_batch);
  out["chunk"] = segment.chunk;
  out["layer"] = or_null(segment.layer);
  out["operation"] = at(report.labels, segment.label);
  out["link"] = or_null(segment.link < 0 ? "" : at(report.links, segment.link));
  return out;
}

// Longer paths are listed at both ends only: a row takes about 1.3 kB of memory here, and what lies
// between repeats itself.
constexpr std::size_t kListedSegments = 100'000;

// One row in place of `count` segments from `first` on, so that rows still abut.
Json left_out_json(const std::vector<PathSegment>& segments, std::size_t first, std::size_t count) {
  double contention_s = 0;
  for (std::size_t i = first; i < first + count; ++i) contention_s += segments[i].contention_s;
  Json out = Json::object();
  out["start_s"] = finite(segments[first].start_s);
  out["end_s"] = finite(segments[first + count - 1].end_s);
  out["contention_s"] = finite(contention_s);
  for (const char* key :
       {"category", "stage", "rank", "micro_batch", "chunk", "layer", "operation", "link"}) {
    out[key] = nullptr;
  }
  out["left_out"] = count;
  return out;
}

Json segments_json(const RunReport& report) {
  const std::vector<PathSegment>& segments = report.analysis.critical_path.segments;
  const std::size_t left_out = segments.size() - std::min(segments.size(), kListedSegments);
  const std::size_t head = left_out > 0 ? kListedSegments / 2 : segments.size();
  Json out = Json::array();
  for (std::size_t i = 0; i < head; ++i) out.push_back(segment_json(segments[i], report));
  if (left_out > 0) out.push_back(left_out_json(segments, head, left_out));
  for (std::size_t i = head + left_out; i < segments.size(); ++i) {
    out.push_back(segment_json(segments[i], report));
  }
  return out;
}

Json by_stage_json(const RunReport& report) {
  Json out = Json::array();
  for (const StageShare& share : path_by_stage(report)) {
    out.push_back({{"stage", share.stage}, {"time_s", finite(share.seconds)}});
  }
  return out;
}

Json by_layer_json(const RunReport& report) {
  Json out = Json::array();
  for (const LayerShare& share : path_by_layer(report)) {
    out.push_back({{"stage", share.stage},
                   {"chunk", share.chunk},
                   {"layer", or_null(share.layer)},
                   {"time_s", finite(share.seconds)}});
  }
  return out;
}

Json by_link_json(const RunReport& report) {
  Json out = Json::array();
  for (const LinkShare& share : path_by_link(report)) {
    out.push_back({{"link", share.link}, {"time_s", finite(share.seconds)}});
  }
  return out;
}

Json path_json(const RunReport& report) {
  const CriticalPath& path = report.analysis.critical_path;
  Json out = Json::object();
  out["by_category"] = breakdown_json(path.by_category);
  out["by_stage"] = by_stage_json(report);
  out["by_layer"] = by_layer_json(report);
  out["by_link"] = by_link_json(report);
  out["segments"] = segments_json(report);
  return out;
}

Json collectives_json(const Analysis& analysis) {
  Json out = Json::array();
  for (const CollectiveUse& use : analysis.collectives) {
    const bool bound = !use.bound_link.empty();
    Json row = Json::object();
    row["group"] = use.group;
    row["collective"] = use.label;
    row["algorithm"] = use.algorithm;
    row["count"] = mean_count(use.count);
    row["message_bytes"] = use.message.value();
    row["time_s"] = finite(use.time_s);
    row["exposed_s"] = finite(use.exposed_s);
    row["bound"] = name(link_kind(use.bound_link));
    row["bound_link"] = or_null(use.bound_link);
    row["bound_bytes_per_s"] = bound ? finite(use.bound.value()) : Json(nullptr);
    out.push_back(std::move(row));
  }
  return out;
}

Json links_json(const Analysis& analysis) {
  Json out = Json::array();
  for (const LinkUtilisation& link : analysis.links) {
    Json row = Json::object();
    row["link"] = link.link;
    row["count"] = link.count;
    row["utilisation"] = finite(link.utilisation);
    row["bytes"] = finite(link.bytes);
    row["users"] = Json::array();
    for (const TraceLinkUser& user : link.users) {
      row["users"].push_back({{"group", user.group}, {"bytes", finite(user.bytes)}});
    }
    out.push_back(std::move(row));
  }
  return out;
}

Json events_json(const ReplayCounts& events) {
  Json out = Json::object();
  out["ranks"] = events.ranks;
  out["rank_classes"] = events.rank_classes;
  out["flows"] = events.flows;
  out["timers"] = events.timers;
  return out;
}

}  // namespace

std::string write_json(const RunReport& report) {
  const Analysis& analysis = report.analysis;
  Json out = Json::object();
  add_rates(out, report);
  out["gpus"] = report.run.gpus;
  out["layout"] = layout_json(report.run);
  out["model"] = model_json(report);
  out["perturbations"] = perturbations_json(report.run);
  out["memory"] = memory_json(analysis.memory, true);
  out["breakdown"] = breakdown_json(analysis.breakdown);
  out["breakdown_per_stage"] = stages_json(analysis.breakdown_per_stage);
  out["critical_path"] = path_json(report);
  out["groups"] = groups_json(report);
  out["collectives"] = collectives_json(analysis);
  out["links"] = links_json(analysis);
  out["events"] = events_json(report.events);
  out["assumptions"] = report.assumptions;
  out["warnings"] = report.warnings;
  constexpr int kOpenLevels = 3;
  return to_text(out, kOpenLevels);
}

}  // namespace shardsim
