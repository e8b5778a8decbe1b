// What one GPU of each stage holds, when most, and what would make it fit: a plain value for the
// writers. Nothing is replayed: the peak is a walk over the program in order (workload/memory.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "base/ids.h"
#include "workload/memory.h"

namespace shardsim {

struct MemoryLine {  // something that the worst rank holds at its peak
  std::string what;
  Bytes bytes{};
};

struct MemoryMoment {  // one pass of the worst rank
  std::string pass;    // "forward of 10 layers"
  std::int32_t micro_batch = -1;
  std::int32_t chunk = 0;
  Bytes peak{};    // all that is held at its worst moment, static bytes too
  Bytes at_end{};  // and when it has ended
};

// A change of the run file, and the peak of the worst stage under it.
struct MemoryChange {
  std::vector<std::string> overrides;  // as for --set
  std::int64_t gpus = 0;
  Bytes peak{};
  bool fits = false;
};

struct MemoryReport {
  RunSpec run;
  MemoryUse use;
  std::int32_t worst_stage = 0;
  Rank worst_rank = 0;  // the first of those that hold most
  std::int64_t worst_ranks = 0;
  std::int32_t peak_pass = 0;
  std::vector<MemoryLine> lines;  // they sum to the peak
  std::vector<MemoryMoment> timeline;
  std::vector<MemoryChange> changes;  // only when it does not fit: the nearest first
  std::vector<std::string> not_modelled;
};

// Without `changes`.
[[nodiscard]] MemoryReport make_memory_report(const RunSpec& run, const Program& program);

}  // namespace shardsim
