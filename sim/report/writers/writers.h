// Every way to show a result. A writer turns one plain value into the bytes of a file; it computes
// nothing that a reader could not check from the same value. Text stays within 80 columns.
//
// JSON: SI base unit in the key, doubles in the shortest digits that read back equal, integers
// exact, keys in the order stated at the top of json.cpp, one array element a line.
#pragma once

#include <string>
#include <vector>

#include "report/comparison.h"
#include "report/listing.h"
#include "report/memory_report.h"
#include "report/run_report.h"
#include "report/shard_report.h"
#include "report/validation.h"

namespace shardsim {

[[nodiscard]] std::string write_text(const RunReport& report);
[[nodiscard]] std::string write_json(const RunReport& report);
[[nodiscard]] std::string write_csv(const std::vector<RunReport>& reports);  // one row a run

[[nodiscard]] std::string write_text(const Comparison& comparison);
[[nodiscard]] std::string write_json(const Comparison& comparison);

[[nodiscard]] std::string write_text(const ShardReport& report);
[[nodiscard]] std::string write_markdown(const ShardReport& report);
[[nodiscard]] std::string write_json(const ShardReport& report);
[[nodiscard]] std::string write_csv(const ShardReport& report);

[[nodiscard]] std::string write_text(const MemoryReport& report);
[[nodiscard]] std::string write_json(const MemoryReport& report);
[[nodiscard]] std::string write_csv(const MemoryReport& report);

[[nodiscard]] std::string write_text(const Validation& validation, bool with_records);
[[nodiscard]] std::string write_markdown(const Validation& validation);
[[nodiscard]] std::string write_json(const Validation& validation);
[[nodiscard]] std::string write_csv(const Validation& validation);  // one row a record

[[nodiscard]] std::string write_text(const std::vector<Listing>& listings);
[[nodiscard]] std::string write_json(const std::vector<Listing>& listings);
[[nodiscard]] std::string write_csv(const std::vector<Listing>& listings);

}  // namespace shardsim
