// Programs written by hand, lowered on a round DGX: what the tests of this folder share.
#pragma once

#include <cstdint>
#include <string>

#include "lowering/lowering.h"
#include "support/clusters.h"
#include "support/hand_program.h"

namespace shardsim {

using test::HandProgram;

inline constexpr AxisSet kTp = axis_set(Axis::tp);
inline constexpr AxisSet kDp = axis_set(Axis::dp);
inline constexpr std::int64_t kMiB = 1 << 20;

inline RunSpec round_run(std::int64_t tp, std::int64_t pp, std::int64_t dp) {
  RunSpec run = test::run_on(test::dgx_h100_like(), tp * pp * dp);
  run.cluster.gpu = test::round_gpu();
  run.parallel.tp = tp;
  run.parallel.pp = pp;
  run.parallel.dp = dp;
  return run;
}

struct Job {
  Fabric fabric;
  Lowered lowered;
};

inline Job lower(HandProgram& hand, const RunSpec& run, const LoweringOptions& options = {}) {
  const RankGrid grid(run.parallel);
  Job job{.fabric = make_fabric(run), .lowered = {}};
  job.lowered =
      lower_program(hand.finish(grid), run, grid, job.fabric, make_node_map(run), options);
  check_lowered(job.lowered);
  return job;
}

// A job whose one operation is one collective over tp.
inline Job lower_collective(const RunSpec& run, Primitive primitive, std::int64_t bytes,
                            const LoweringOptions& options = {}) {
  HandProgram hand;
  hand.collective(primitive, kTp, bytes, Stream::tp);
  hand.add_program({{.pass_template = hand.end_template()}});
  return lower(hand, run, options);
}

inline std::int64_t weight_of(const Job& job, LaneId lane, const std::string& link) {
  const Lane& row = at(job.lowered.lanes, lane);
  for (std::int32_t u = 0; u < row.use_count; ++u) {
    const LinkUse& use = at(job.lowered.uses, row.first_use + u);
    if (link_name(job.fabric, use.link) == link) {
      return use.weight;
    }
  }
  return 0;
}

}  // namespace shardsim
