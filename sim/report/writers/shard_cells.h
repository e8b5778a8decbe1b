// Cells that the text, Markdown and CSV of the matrix view share.
#pragma once

#include <string>
#include <vector>

#include "report/shard_report.h"

namespace shardsim {

using Cells = std::vector<std::string>;

[[nodiscard]] std::string shape_text(const std::vector<SizedDim>& dims);  // "[2, 8192, 28672]"
[[nodiscard]] std::string dims_text(const std::vector<SizedDim>& dims);   // "b s ffn"
// Axes of more than one rank, in the order tp cp dp pp ep.
[[nodiscard]] std::vector<Axis> cutting_axes(const RunSpec& run);
// "0-7", "0, 7"
[[nodiscard]] std::string stages_text(const std::vector<std::int32_t>& stages);
// "yes", "no", "2 of 8"
[[nodiscard]] std::string exposed_text(const ShardPrimitive& row);
// "10-100 MB"; "" where none is usual.
[[nodiscard]] std::string usual_text(const ShardPrimitive& row);

}  // namespace shardsim
