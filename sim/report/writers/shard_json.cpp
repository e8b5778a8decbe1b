// The matrix view as JSON and CSV. Keys of JSON, in this order:
//   weights[{tensor of dims full_shape local_shape cut{tp cp dp pp ep} copies bytes}]
//   activations[the same] dockings[{from to yields needs forward backward}]
//   primitives[{axis primitive trigger stream stages group_size count_per_step message_bytes
//   exposed exposed_count usual_bytes unusual}] notes[]
// A cut is the name of the dimension, null where the axis leaves the tensor whole. CSV has one row
// a tensor or primitive, the table in its first column.
#include "base/ids.h"
#include "base/text.h"
#include "report/writers/json_parts.h"
#include "report/writers/shard_cells.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

// etp and edp, of experts only, where they cut something.
constexpr std::array<Axis, 5> kAxes{Axis::tp, Axis::cp, Axis::dp, Axis::pp, Axis::ep};
constexpr std::array<Axis, 2> kExpertAxes{Axis::etp, Axis::edp};

Json sizes_json(const std::vector<SizedDim>& dims) {
  Json out = Json::array();
  for (const SizedDim& dim : dims) out.push_back(dim.size);
  return out;
}

Json tensors_json(const std::vector<ShardTensor>& rows) {
  Json out = Json::array();
  for (const ShardTensor& tensor : rows) {
    Json row = Json::object();
    row["tensor"] = tensor.tensor;
    row["of"] = tensor.where;
    row["dims"] = Json::array();
    for (const SizedDim& dim : tensor.full) row["dims"].push_back(std::string(name(dim.dim)));
    row["full_shape"] = sizes_json(tensor.full);
    row["local_shape"] = sizes_json(tensor.local);
    row["cut"] = Json::object();
    for (const Axis axis : kAxes)
      row["cut"][std::string(name(axis))] = or_null(at(tensor.cut, axis));
    for (const Axis axis : kExpertAxes)
      if (!at(tensor.cut, axis).empty()) row["cut"][std::string(name(axis))] = at(tensor.cut, axis);
    row["copies"] = tensor.copies;
    row["bytes"] = tensor.bytes.value();
    out.push_back(std::move(row));
  }
  return out;
}

Json dockings_json(const std::vector<Docking>& rows) {
  Json out = Json::array();
  for (const Docking& docking : rows) {
    out.push_back({{"from", docking.from},
                   {"to", docking.to},
                   {"yields", docking.yields},
                   {"needs", docking.needs},
                   {"forward", std::string(name(docking.forward))},
                   {"backward", std::string(name(docking.backward))}});
  }
  return out;
}

Json primitives_json(const std::vector<ShardPrimitive>& rows) {
  Json out = Json::array();
  for (const ShardPrimitive& primitive : rows) {
    Json row = Json::object();
    row["axis"] = primitive.axis;
    row["primitive"] = primitive.primitive;
    row["trigger"] = primitive.trigger;
    row["stream"] = primitive.stream;
    row["stages"] = primitive.stages;
    row["group_size"] = primitive.group_size;
    row["count_per_step"] = primitive.count_per_step;
    row["message_bytes"] = primitive.message.value();
    row["exposed"] = primitive.exposed_count > 0;
    row["exposed_count"] = primitive.exposed_count;
    row["usual_bytes"] = primitive.usual
                             ? Json::array({primitive.usual->least, primitive.usual->most})
                             : Json(nullptr);
    row["unusual"] = primitive.unusual();
    out.push_back(std::move(row));
  }
  return out;
}

void add_tensor_lines(const std::string& table, const std::vector<ShardTensor>& rows,
                      std::string& out) {
  for (const ShardTensor& row : rows) {
    Cells cells{table, row.where + ": " + row.tensor, dims_text(row.full),
                "\"" + shape_text(row.full) + "\"", "\"" + shape_text(row.local) + "\""};
    for (const Axis axis : kAxes) cells.push_back(at(row.cut, axis));
    cells.insert(cells.end(), {std::to_string(row.copies), std::to_string(row.bytes.value())});
    cells.insert(cells.end(), 5, "");
    out += join(cells, ",") + "\n";
  }
}

}  // namespace

std::string write_json(const ShardReport& report) {
  Json out = Json::object();
  out["weights"] = tensors_json(report.weights);
  out["activations"] = tensors_json(report.activations);
  out["dockings"] = dockings_json(report.dockings);
  out["primitives"] = primitives_json(report.primitives);
  out["notes"] = report.notes;
  constexpr int kOpenLevels = 2;
  return to_text(out, kOpenLevels);
}

std::string write_csv(const ShardReport& report) {
  std::string out =
      "table,name,dims,full_shape,local_shape,tp,cp,dp,pp,ep,copies,bytes,axis,stream,group_size,"
      "count_per_step,exposed_count\n";
  add_tensor_lines("weights", report.weights, out);
  add_tensor_lines("activations", report.activations, out);
  for (const ShardPrimitive& row : report.primitives) {
    Cells cells{"primitives", row.trigger + " " + row.primitive};
    cells.insert(cells.end(), 9, "");
    cells.insert(cells.end(), {std::to_string(row.message.value()), row.axis, row.stream,
                               std::to_string(row.group_size), std::to_string(row.count_per_step),
                               std::to_string(row.exposed_count)});
    out += join(cells, ",") + "\n";
  }
  return out;
}

}  // namespace shardsim
