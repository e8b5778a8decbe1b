// Pieces of JSON that the report of one run and the comparison of several share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/run_report.h"

namespace shardsim {

using Json = nlohmann::ordered_json;

// Objects and arrays of the first levels open up; below `open_levels`, and in arrays, each element
// stands on one line. Ends with a line break. InternalError for a number that is not finite.
[[nodiscard]] std::string to_text(const Json& value, int open_levels);

[[nodiscard]] Json finite(double value);         // InternalError when it is not
[[nodiscard]] Json mean_count(double value);     // an integer when it is whole
[[nodiscard]] Json or_null(std::int64_t index);  // null for an index below zero (there is none)
[[nodiscard]] Json or_null(const std::string& text);  // null for ""

[[nodiscard]] Json breakdown_json(const Breakdown& breakdown);
[[nodiscard]] Json layout_json(const RunSpec& run);
// As in a run file: [{"gpu": 0, "speed": 0.01}, ...]
[[nodiscard]] Json perturbations_json(const RunSpec& run);
[[nodiscard]] Json model_json(const RunReport& report);
[[nodiscard]] Json memory_json(const MemoryUse& memory, bool with_stages);
[[nodiscard]] Json groups_json(const RunReport& report);
// step_time_s .. flops_convention, peak; what both kinds of result begin with.
void add_rates(Json& out, const RunReport& report);

}  // namespace shardsim
