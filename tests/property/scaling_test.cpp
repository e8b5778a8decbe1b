// Laws of whole training jobs on random clusters and layouts.
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "random_job.h"
#include "support/catch.h"

namespace shardsim {
namespace {

using test::pick;
using test::random_run;
using test::simulate_run;

void double_rate(LinkSpec& link) {
  link.bandwidth_per_direction = link.bandwidth_per_direction * 2.0;
  link.latency = link.latency / 2.0;
}

RunSpec twice_as_fast(RunSpec run) {
  GpuSpec& gpu = run.cluster.gpu;
  gpu.memory_bandwidth = gpu.memory_bandwidth * 2.0;
  for (auto& [precision, peak] : gpu.peak) {
    peak = peak * 2.0;
  }
  gpu.host_time_per_kernel = gpu.host_time_per_kernel / 2.0;
  if (run.stack.host_time_per_kernel) {
    run.stack.host_time_per_kernel = *run.stack.host_time_per_kernel / 2.0;
  }
  double_rate(run.cluster.node.nvlink);
  double_rate(run.cluster.node.nic);
  if (run.cluster.node.pcie) {
    double_rate(*run.cluster.node.pcie);
  }
  run.cluster.fabric.hop_latency = run.cluster.fabric.hop_latency / 2.0;
  CollectiveCorrections& corrections = run.cluster.corrections;
  corrections.base_latency = corrections.base_latency / 2.0;
  corrections.node_ramp = corrections.node_ramp / 2.0;
  corrections.fabric_ramp = corrections.fabric_ramp / 2.0;
  return run;
}

TEST_CASE("property: twice every rate and half every latency halves every timestamp") {
  REQUIRE(rc::check("scaling", [] {
    const RunSpec run = random_run();
    const auto slow = simulate_run(run, FoldMode::automatic);
    const auto fast = simulate_run(twice_as_fast(run), FoldMode::automatic);
    RC_ASSERT(slow.trace.ranks.size() == fast.trace.ranks.size());
    const double tolerance = 1e-9 * slow.trace.step_s;
    for (std::size_t rank = 0; rank < slow.trace.ranks.size(); ++rank) {
      const TraceRank& a = slow.trace.ranks[rank];
      const TraceRank& b = fast.trace.ranks[rank];
      for (std::size_t i = 0; i < a.end_s.size(); ++i) {
        RC_ASSERT(std::abs(a.start_s[i] - 2 * b.start_s[i]) <= tolerance);
        RC_ASSERT(std::abs(a.end_s[i] - 2 * b.end_s[i]) <= tolerance);
      }
    }
  }));
}

TEST_CASE("property: no operation starts before what it waits for has ended") {
  REQUIRE(rc::check("order", [] {
    const auto done = simulate_run(random_run(), FoldMode::automatic);
    for (const TraceRank& rank : done.trace.ranks) {
      const TraceProgram& program = at(done.trace.programs, rank.program);
      std::array<double, kLoweredStreamCount> stream_end{};
      for (const TracePass& pass : program.passes) {
        const TraceTemplate& from = at(done.trace.templates, pass.pass_template);
        for (std::int32_t i = 0; i < count(from.ops); ++i) {
          const TraceOp& op = at(from.ops, i);
          const double start = at(rank.start_s, pass.first_op + i);
          double& end = stream_end[static_cast<std::size_t>(op.stream)];
          RC_ASSERT(start >= end);
          for (std::int32_t d = 0; d < op.dep_count; ++d) {
            RC_ASSERT(start >= at(rank.end_s, pass.first_op + at(from.deps, op.first_dep + d)));
          }
          end = at(rank.end_s, pass.first_op + i);
          RC_ASSERT(end >= start);
          RC_ASSERT(end <= done.trace.step_s);
        }
      }
    }
  }));
}

}  // namespace
}  // namespace shardsim
