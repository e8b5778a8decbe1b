// Runs as CSV (RFC 4180, '\n' at line ends): a head, then one row a run. Numbers as in JSON.
#include "base/text.h"
#include "report/perturbations.h"
#include "report/words.h"
#include "report/writers/json_parts.h"
#include "report/writers/tables.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

struct Column {
  std::string head;
  std::string cell;
};

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_cell(value.get<std::string>());
  if (value.is_array()) {  // layers_per_stage: one cell
    std::vector<std::string> parts;
    for (const Json& element : value) parts.push_back(element.dump());
    return join(parts, " ");
  }
  return value.dump();
}

std::vector<Column> row_of(const RunReport& report) {
  Json head = Json::object();
  head["name"] = or_null(report.name);
  head["model"] = report.run.model.name;
  head["parameters"] = report.analysis.parameters;
  head["gpus"] = report.run.gpus;
  head.update(layout_json(report.run));
  head["perturbations"] = or_null(perturbations_text(report.run));
  add_rates(head, report);
  head.update(memory_json(report.analysis.memory, false));
  head.update(breakdown_json(report.analysis.breakdown));
  std::vector<Column> columns;
  for (const auto& [key, value] : head.items()) columns.push_back({key, cell(value)});
  return columns;
}

std::string line_of(const std::vector<Column>& columns, std::string Column::*member) {
  std::vector<std::string> cells;
  for (const Column& column : columns) cells.push_back(column.*member);
  return join(cells, ",") + "\n";
}

}  // namespace

std::string write_csv(const std::vector<RunReport>& reports) {
  std::string out;
  for (const RunReport& report : reports) {
    const std::vector<Column> columns = row_of(report);
    if (out.empty()) out += line_of(columns, &Column::head);
    out += line_of(columns, &Column::cell);
  }
  return out;
}

std::string write_csv(const std::vector<Listing>& listings) {
  std::string out = "kind,name,help\n";
  for (const Listing& listing : listings) {
    for (const ListEntry& entry : listing.entries) {
      out += listing.kind + "," + csv_cell(entry.name) + "," + csv_cell(entry.help) + "\n";
    }
  }
  return out;
}

}  // namespace shardsim
