#include "report/writers/tables.h"

#include "base/text.h"

namespace shardsim {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::vector<std::string> quoted;
  quoted.reserve(cells.size());
  for (const std::string& cell : cells) quoted.push_back(csv_cell(cell));
  return join(quoted, ",") + "\n";
}

std::string markdown_table(const std::vector<std::vector<std::string>>& rows) {
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += "| " + join(rows[i], " | ") + " |\n";
    if (i == 0) {
      for (std::size_t column = 0; column < rows[i].size(); ++column) out += "|---";
      out += "|\n";
    }
  }
  return out;
}

}  // namespace shardsim
