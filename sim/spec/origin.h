// Where the values of a run were written: in the run file, in a file that it names, or in --set.
//
// Folders above spec/ know keys of the run only; their problems name the run file and a pointer in
// it, and this moves them to the place that the user can mend:
//
//   {run.json, /cluster/node/nics/count, ...}  ->  {topologies/pod.json, /node/nics/count, ...}
#pragma once

#include <vector>

#include "base/errors.h"
#include "spec/json_value.h"
#include "spec/run_spec.h"

namespace shardsim {

// The origins of a whole tree, outer values first: one for each value that is written elsewhere
// than the value around it.
[[nodiscard]] std::vector<Origin> origins_of(const JsonValue& root, const std::string& file);

// The problem where the value was written; what names another file than the run's stays.
[[nodiscard]] Problem located(const RunSpec& run, Problem problem);
// All of them, to be thrown.
[[nodiscard]] ConfigError located(const RunSpec& run, std::vector<Problem> problems);

}  // namespace shardsim
