// The matrix view for people: text of 80 columns, and Markdown with every column.
#include <algorithm>
#include <map>

#include "base/ids.h"
#include "base/text.h"
#include "report/writers/layout.h"
#include "report/writers/shard_cells.h"
#include "report/writers/tables.h"
#include "report/writers/text_parts.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

std::string title(const ShardReport& report) {
  const RunSpec& run = report.run;
  return run.model.name + " on " + counted(run.gpus, "GPU") + ": what each axis cuts";
}

std::string layout_of(const RunSpec& run) {
  RunReport row;
  row.run = run;
  return layout_table({&row, 1});
}

void add_cuts(const ShardTensor& row, const std::vector<Axis>& axes, Cells& cells) {
  for (const Axis axis : axes) cells.push_back(at(row.cut, axis).empty() ? "-" : at(row.cut, axis));
}

// Two lines a tensor: the whole of it, and what one GPU holds.
std::string tensor_table(const std::vector<ShardTensor>& rows, const std::vector<Axis>& axes) {
  Table table;
  table.left = {0, 1, 2};
  Cells head{"tensor", "", "shape"};
  for (const Axis axis : axes) {
    table.left.push_back(head.size());
    head.emplace_back(name(axis));
  }
  head.insert(head.end(), {"copies", "bytes"});
  table.rows.push_back(head);
  for (const ShardTensor& row : rows) {
    Cells all{row.tensor, "all", shape_text(row.full)};
    add_cuts(row, axes, all);
    all.insert(all.end(), {std::to_string(row.copies), ""});
    Cells one(all.size());
    one[1] = "GPU";
    one[2] = shape_text(row.local);
    one.back() = format_bytes(row.bytes);
    table.rows.push_back(std::move(all));
    table.rows.push_back(std::move(one));
  }
  return to_text(table);
}

std::string tensors_by_chain(const std::vector<ShardTensor>& rows, const std::vector<Axis>& axes) {
  std::string out;
  for (std::size_t i = 0; i < rows.size();) {
    std::vector<ShardTensor> part;
    const std::string where = rows[i].where;
    for (; i < rows.size() && rows[i].where == where; ++i) part.push_back(rows[i]);
    out += " of " + std::string(where == "layer" ? "one layer" : "the " + where) + "\n" +
           tensor_table(part, axes);
  }
  return out;
}

Cells docking_cells(const Docking& row) {
  return {row.from + " -> " + row.to, row.yields, row.needs, std::string(name(row.forward)),
          std::string(name(row.backward))};
}

std::string docking_table(const ShardReport& report) {
  Table table;
  table.left = {0, 1, 2, 3, 4};
  table.rows.push_back({"between", "yields", "needs", "forward", "backward"});
  for (const Docking& row : report.dockings) table.rows.push_back(docking_cells(row));
  return to_text(table);
}

Cells primitive_cells(const ShardPrimitive& row) {
  return {row.axis,
          row.trigger,
          row.primitive,
          std::to_string(row.group_size),
          format_count(row.count_per_step),
          (row.unusual() ? "! " : "") + format_bytes(row.message),
          exposed_text(row)};
}

// "! outside what is usual: tp, sp, pp 10-100 MB"
std::string usual_legend(const ShardReport& report) {
  std::map<std::string, std::vector<std::string>> axes_of;
  for (const ShardPrimitive& row : report.primitives) {
    std::vector<std::string>& axes = axes_of[usual_text(row)];
    const bool listed = std::find(axes.begin(), axes.end(), row.axis) != axes.end();
    if (row.unusual() && !listed) axes.push_back(row.axis);
  }
  std::vector<std::string> parts;
  for (const auto& [range, axes] : axes_of) {
    if (!axes.empty()) parts.push_back(join(axes, ", ") + " " + range);
  }
  return parts.empty() ? "" : wrap("  ! ", "outside what is usual: " + join(parts, "; "));
}

std::string primitive_table(const ShardReport& report) {
  Table table;
  table.left = {0, 1, 2};
  table.flexible = 1;
  table.rows.push_back({"axis", "trigger", "primitive", "ranks", "count", "message", "exposed"});
  for (const ShardPrimitive& row : report.primitives) table.rows.push_back(primitive_cells(row));
  return to_text(table) + usual_legend(report);
}

std::string markdown_tensors(const std::vector<ShardTensor>& rows, const std::vector<Axis>& axes) {
  std::vector<Cells> table{{"of", "tensor", "dimensions", "full shape", "on one GPU"}};
  for (const Axis axis : axes) table[0].push_back(std::string(name(axis)) + " cuts");
  table[0].insert(table[0].end(), {"copies", "bytes"});
  for (const ShardTensor& row : rows) {
    Cells cells{row.where, row.tensor, dims_text(row.full), shape_text(row.full),
                shape_text(row.local)};
    add_cuts(row, axes, cells);
    cells.insert(cells.end(), {std::to_string(row.copies), format_bytes(row.bytes)});
    table.push_back(std::move(cells));
  }
  return markdown_table(table);
}

}  // namespace

std::string write_text(const ShardReport& report) {
  const std::vector<Axis> axes = cutting_axes(report.run);
  std::string out = wrap("", title(report)) + "\n" + layout_of(report.run);
  out += "\nweights\n" + tensors_by_chain(report.weights, axes);
  out += "\nactivations that forward leaves for backward\n" +
         tensors_by_chain(report.activations, axes);
  if (report.run.parallel.tp > 1) {
    out += "\nplacements along tp, as yielded and as needed; equal ones need no primitive\n" +
           docking_table(report);
  }
  if (!report.primitives.empty()) {
    out += "\nprimitives of one GPU in a step\n" + primitive_table(report);
  }
  if (!report.notes.empty()) out += "\nnotes\n";
  for (const std::string& note : report.notes) out += wrap("  - ", note);
  return out;
}

std::string write_markdown(const ShardReport& report) {
  const std::vector<Axis> axes = cutting_axes(report.run);
  std::string out = "# " + title(report) + "\n\n## Weights\n\n";
  out += markdown_tensors(report.weights, axes);
  out += "\n## Activations\n\n" + markdown_tensors(report.activations, axes);
  std::vector<Cells> dockings{{"between", "yields", "needs", "forward", "backward"}};
  for (const Docking& row : report.dockings) dockings.push_back(docking_cells(row));
  out += "\n## Placements between operators\n\n" + markdown_table(dockings);
  std::vector<Cells> primitives{{"axis", "trigger", "primitive", "ranks", "count per step",
                                 "message", "exposed", "usual", "stream", "stages"}};
  for (const ShardPrimitive& row : report.primitives) {
    primitives.push_back(primitive_cells(row));
    primitives.back().insert(primitives.back().end(),
                             {usual_text(row), row.stream, stages_text(row.stages)});
  }
  out += "\n## Primitives\n\n" + markdown_table(primitives);
  if (!report.notes.empty()) out += "\n## Notes\n\n";
  for (const std::string& note : report.notes) out += "- " + note + "\n";
  return out;
}

}  // namespace shardsim
