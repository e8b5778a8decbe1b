// Tables as CSV (RFC 4180) and Markdown.
#pragma once

#include <string>
#include <vector>

namespace shardsim {

[[nodiscard]] std::string csv_cell(const std::string& text);  // quoted where it must be
[[nodiscard]] std::string csv_line(const std::vector<std::string>& cells);

// The first row is the head.
[[nodiscard]] std::string markdown_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace shardsim
