// Where the chains of one rank class have to be cut: what waits for what outside its chain.
//
// LoweredTemplate with its placement -> needs of every operation that stays and of every chain, the
// stretch of the compute stream that each chain covers, and its exits (chain_parts.h).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "fold/lockstep.h"

namespace shardsim {

struct Need {                // something that an operation or a chain has to wait for
  std::int32_t op = -1;      // of the template, or
  std::int32_t stream = -1;  // what a stream held before the pass
  bool is_data = false;
  std::int32_t chain = -1;
  double offset = 0;  // its end, from the start of `chain`
};

struct Exit {
  double offset = 0;
  std::int32_t op = -1;
};

struct Stretch {            // of the compute stream that a chain covers
  std::int32_t first = -1;  // operations; -1 = none
  std::int32_t last = -1;
  double start_s = 0;
  double end_s = 0;
};

struct ChainCuts {
  std::vector<std::uint8_t> is_part;  // per operation: of a chain that is replayed in parts
  std::vector<std::vector<std::int32_t>> ops_of_chain;
  std::vector<Stretch> stretches;                   // per chain
  std::vector<std::vector<Exit>> exits;             // per chain, by rising offset
  std::map<std::int32_t, std::vector<Need>> needs;  // of single operations and starts of chains
  std::map<Stream, std::int32_t> last_on_stream;
  // Streams whose last operation is told by the compute stream's.
  StreamMask with_compute = 0;
};

[[nodiscard]] ChainCuts find_cuts(const Domain& domain, std::int32_t rank,
                                  const LoweredTemplate& from, const Waits& waits,
                                  const Placement& placement,
                                  const std::vector<std::uint8_t>& merged);

}  // namespace shardsim
