// Which communications the compute stream can do nothing beside, by the order of operations alone.
//
// Beside a communication stand the kernels of its pass that come after the last compute operation
// it depends on and before the first that waits for it. With none the communication is exposed by
// construction, however fast it is; with some it may be hidden. What nothing of its pass waits for
// is exposed when the next pass begins by waiting for its stream, or the step's end follows.
//
//   qkv kernel -> all_reduce -> residual kernel waits        exposed
//   dgrad kernel -> all_reduce beside wgrad kernel -> waits  may be hidden
#pragma once

#include <cstdint>
#include <vector>

#include "workload/program.h"

namespace shardsim {

struct CommunicationCount {        // of one kind of communication on one kind of rank
  std::int32_t communication = 0;  // Program::communications
  Stream stream = Stream::compute;
  Category category = Category::compute;
  std::int64_t count = 0;    // in a step
  std::int64_t exposed = 0;  // of them, by construction
};

// In order of first use.
[[nodiscard]] std::vector<CommunicationCount> count_communications(const Program& program,
                                                                   const RankProgram& rank);

}  // namespace shardsim
