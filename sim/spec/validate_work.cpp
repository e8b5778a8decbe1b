// How much there is to simulate: refused above what fits in a few GiB of this computer's memory.
//
// A step has micro_batches forward and backward passes per chunk, each with the operations of its
// layers. This estimate takes what any folding and coalescing leaves: the passes of all stages, and
// the critical path, on which each operation of a stage may lie. What the replay itself takes is
// counted where it is known (commands/replay_size.h). Measured with llama3-8b, tp 8: 30 to 60
// operations of a layer in both passes together, 72 B for one on the path; of a pass that is a
// single event, 300 B.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/memory_limit.h"
#include "base/text.h"
#include "spec/checks.h"

namespace shardsim {
namespace {

constexpr double kOperationsPerLayer = 50;  // with recomputation, more kernels: 45 to 60
constexpr double kOperationsPerChunk = 20;  // ends of the model, boundaries, streams that meet
constexpr double kBytesPerPathOperation = 72;
constexpr double kBytesPerPass = 300;

// Memory that one micro batch of all pipelines takes here.
double bytes_per_micro_batch(const RunSpec& run) {
  const auto stages = static_cast<double>(run.parallel.pp);
  const auto chunks = static_cast<double>(run.parallel.vpp);
  const double path =
      kOperationsPerLayer * std::ceil(static_cast<double>(run.model.layers) / stages) +
      kOperationsPerChunk * chunks;
  return kBytesPerPathOperation * path + kBytesPerPass * 2 * chunks * stages;
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
  const double bytes = each * static_cast<double>(run.batch.micro_batches);
  if (bytes <= kMostMemory) {
    return;
  }
  const std::int64_t group =
      p.vpp > 1 ? p.pp : 1;  // micro batches that the schedule wants together
  const auto most = static_cast<std::int64_t>(kMostMemory / each) / group * group;
  const std::string what = fmt::format(
      "{} of {} in {} of {} need about {:.0f} GiB of memory to simulate",
      counted(run.batch.micro_batches, "micro batch"), counted(run.model.layers, "layer"),
      counted(p.pp, "stage"), counted(p.vpp, "chunk"), bytes / kGiB);
  complain(c, "batch.global", what,
           most == 0 ? "use fewer layers or stages"
                     : fmt::format("use global {} or less, or a larger micro batch",
                                   most * run.batch.micro * p.dp));
}

}  // namespace shardsim
