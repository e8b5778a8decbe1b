// Rules over a run that folders above spec/ have: handed to the reader, which says what they find
// beside its own problems, with the file in which the value stands.
#pragma once

#include <string>
#include <vector>

#include "base/errors.h"
#include "spec/run_spec.h"

namespace shardsim {

struct RunRule {
  std::vector<std::string> keys;  // asked only when nothing in these was wrong by itself
  // Pointers are those of the run file with all that it names written into it:
  // /cluster/node/nics/count.
  std::vector<Problem> (*problems)(const RunSpec& run) = nullptr;
};
using RunRules = std::vector<RunRule>;

}  // namespace shardsim
