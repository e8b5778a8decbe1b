// What the times of a trace mean: breakdown, critical path, rates, memory, busiest links.
//
// The breakdown and the critical path are defined in sim/README.md ("Breakdown", "Critical path");
// both sum to the step time. Times in seconds, sizes in bytes, rates per second.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "spec/run_spec.h"
#include "trace/trace.h"
#include "workload/program.h"

namespace shardsim {

// The keys of every breakdown, in the order of reports. The first nine are Category's.
enum class Bin : std::uint8_t {
  compute,
  recompute,
  optimizer,
  tp,
  sp,
  cp,
  ep,
  pp,
  dp,
  bubble,
  wait,
  contention,
  other
};
inline constexpr std::size_t kBinCount = 13;
[[nodiscard]] std::string_view name(Bin bin);  // "compute", ...; JSON adds "_s"

struct Breakdown {
  std::array<double, kBinCount> seconds{};
  [[nodiscard]] double& operator[](Bin bin) { return seconds[static_cast<std::size_t>(bin)]; }
  [[nodiscard]] double operator[](Bin bin) const { return seconds[static_cast<std::size_t>(bin)]; }
  [[nodiscard]] double total() const;
};

struct PathSegment {  // one piece of the critical path; segments abut, from 0 to the step's end
  double start_s = 0;
  double end_s = 0;
  double contention_s = 0;  // part of a flow's segment beyond its time alone
  Bin bin = Bin::compute;
  std::int32_t stage = 0;
  std::int32_t rank_class = 0;
  std::int32_t op = 0;  // index in the rank class
  std::int32_t micro_batch = -1;
  std::int32_t chunk = 0;   // of the stage
  std::int32_t layer = -1;  // within the chunk, -1 = none
  std::int32_t label = 0;   // Trace::labels
  std::int32_t link = -1;   // Trace::links: bounds a flow alone, -1 = none
};

struct CriticalPath {
  Breakdown by_category;              // bubble and wait are 0; sums to the step
  std::vector<PathSegment> segments;  // in time order
};

struct StageMemory {
  std::int32_t stage = 0;
  Bytes weights{};
  Bytes gradients{};
  Bytes optimizer{};
  Bytes activations{};  // peak of the live ones
  Bytes other{};
  Bytes peak{};  // of the stage: all of the above together at the worst moment
};

struct MemoryUse {
  std::vector<StageMemory> stages;
  Bytes peak{};  // of the worst stage
  Bytes capacity{};
  bool fits = true;
};

struct Rates {
  double tokens_per_s = 0;
  double tokens_per_s_per_gpu = 0;
  double model_flops_per_token = 0;
  double model_tflops_per_gpu = 0;
  double mfu = 0;
  double hfu = 0;  // recomputation counted
  std::string flops_convention;
  FlopPerSecond peak{};   // dense, that mfu and hfu are fractions of
  std::string peak_name;  // "bf16 dense"
};

struct LinkUtilisation {
  std::string link;
  std::int32_t count = 1;  // links of the same class
  double utilisation = 0;  // bytes / (capacity * step)
  double bytes = 0;
  std::vector<TraceLinkUser> users;
};

// What one kind of collective did in the step, for reports. Count and times have one basis: the sum
// over all ranks divided by the number of all ranks, those that take no part too; so the count may
// be a fraction, and count * message / time is what one rank's messages reached.
// A message between two ranks counts once, at its sender: its time in flight is the send's, its
// exposed time that of both ends.
struct CollectiveUse {
  std::string group;  // "tp", "dp"
  std::string label;  // trigger: "attention out all_reduce", "stage boundary forward send_recv"
  std::string algorithm;
  double count = 0;        // mean over all ranks
  Bytes message{};         // of one
  double time_s = 0;       // summed time in flight, latency included
  double exposed_s = 0;    // of it, while a compute stream waited for it
  std::string bound_link;  // link that bounds it alone
  BytesPerSecond bound{};  // capacity of that link
};

struct Analysis {
  double step_s = 0;
  Breakdown breakdown;  // mean over all ranks
  std::vector<Breakdown> breakdown_per_stage;
  CriticalPath critical_path;
  Rates rates;
  MemoryUse memory;
  std::vector<LinkUtilisation> links;      // busiest first
  std::vector<CollectiveUse> collectives;  // most time first
  std::int64_t parameters = 0;             // of the model, no vocabulary padding, no MTP
  std::int64_t active_parameters = 0;
};

// Moves what rounding leaves between the sum of the bins, added in their order, and `total` into
// one bin, the largest that can take it. It is a few units in the last place; InternalError when it
// is more than 1e-9 of `scale`, the size of the times that the bins were worked out from.
void settle(Breakdown& breakdown, double total, double scale);

[[nodiscard]] Breakdown rank_breakdown(const Trace& trace, std::int32_t rank_class);
[[nodiscard]] Breakdown step_breakdown(const Trace& trace);
[[nodiscard]] std::vector<Breakdown> stage_breakdowns(const Trace& trace);
[[nodiscard]] CriticalPath critical_path(const Trace& trace);
[[nodiscard]] MemoryUse memory_use(const Program& program, const RunSpec& run);
[[nodiscard]] Rates rates(const RunSpec& run, double step_s);
[[nodiscard]] std::vector<LinkUtilisation> link_utilisation(const Trace& trace);
[[nodiscard]] std::vector<CollectiveUse> collective_uses(const Trace& trace);

[[nodiscard]] Analysis analyze(const Trace& trace, const Program& program, const RunSpec& run);

}  // namespace shardsim
