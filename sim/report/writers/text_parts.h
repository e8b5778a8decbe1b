// Pieces of text that the report of one run and the comparison of several share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/run_report.h"

namespace shardsim {

// NVIDIA's heads: #GPUs GBS MBS SeqLen TP PP CP VP EP DP GA; one row a run, after its name if any.
[[nodiscard]] std::string layout_table(std::span<const RunReport> reports);
// Whether it shows all names whole.
[[nodiscard]] bool layout_table_fits(std::span<const RunReport> reports);

// One row a group: ranks, how many share a node, bytes, time, exposed, bounding link.
[[nodiscard]] std::string groups_table(const RunReport& report);

// The bins that are not zero in at least one of the breakdowns, in the order of reports.
[[nodiscard]] std::vector<Bin> shown_bins(const std::vector<Breakdown>& breakdowns);

// "1 GPU", "1,024 GPUs".
[[nodiscard]] std::string format_mean(double count);        // "8", "1,024", "0.75"
[[nodiscard]] std::string format_amount(double bytes);      // decimal, like format_bytes
[[nodiscard]] std::string bound_text(const GroupUse& use);  // "NVLink 409.0 GB/s", "latency"

}  // namespace shardsim
