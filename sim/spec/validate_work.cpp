// How much there is to simulate: refused above what fits in a few GiB of this computer's memory.
//
// A step has micro_batches forward and backward passes per chunk, each with the operations of its
// layers. Folding (fold/) leaves one kind of rank per stage, or more where the machine is uneven;
// this estimate takes one. Measured on one kind of rank (2,048 micro batches of llama3-8b, tp 8)
// and on four (2,048 of llama3-70b, pp 4 and vpp 5): 39 operations of a layer in both passes
// together, 240 B for an operation from lowering to the report, and 1.3 kB more for those of one
// stage where JSON lists the critical path.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spec/checks.h"

namespace shardsim {
namespace {

constexpr double kOperationsPerLayer = 50;  // with recomputation, more kernels: 45 to 60
constexpr double kOperationsPerChunk = 20;  // ends of the model, boundaries, streams that meet
constexpr double kBytesPerOperation = 250;
constexpr double kBytesPerListedOperation = 1500;
constexpr double kMostBytes = 8.0 * 1024 * 1024 * 1024;  // assumed: what any workstation has

// Memory that one micro batch of all pipelines takes here.
double bytes_per_micro_batch(const RunSpec& run) {
  const ParallelSpec& p = run.parallel;
  const auto stages = static_cast<double>(p.pp);
  const double per_stage =
      kOperationsPerLayer * std::ceil(static_cast<double>(run.model.layers) / stages) +
      kOperationsPerChunk * static_cast<double>(p.vpp);
  return per_stage * (stages * kBytesPerOperation + kBytesPerListedOperation);
}

}  // namespace

void validate_work(Checking& c) {
  const RunSpec& run = c.run;
  const ParallelSpec& p = run.parallel;
  if (!usable(c, {"batch.global", "batch.micro", "parallel.dp", "parallel.pp", "parallel.vpp",
                  "model.layers"})) {
    return;
  }
  const double each = bytes_per_micro_batch(run);
  const double gib = each * static_cast<double>(run.batch.micro_batches) / (1024.0 * 1024 * 1024);
  if (gib * 1024 * 1024 * 1024 <= kMostBytes) {
    return;
  }
  const std::int64_t group =
      p.vpp > 1 ? p.pp : 1;  // micro batches that the schedule wants together
  const auto most = static_cast<std::int64_t>(kMostBytes / each) / group * group;
  const std::string what = fmt::format(
      "{} micro batches of {} layers in {} {} of {} {} need about {:.0f} GiB of memory "
      "to simulate",
      run.batch.micro_batches, run.model.layers, p.pp, p.pp == 1 ? "stage" : "stages", p.vpp,
      p.vpp == 1 ? "chunk" : "chunks", gib);
  complain(c, "batch.global", what,
           most == 0 ? "use fewer layers or stages"
                     : fmt::format("use global {} or less, or a larger micro batch",
                                   most * run.batch.micro * p.dp));
}

}  // namespace shardsim
