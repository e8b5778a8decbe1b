#include "sharding/primitive.h"

#include <vector>

#include "base/errors.h"
#include "base/text.h"

namespace shardsim {

std::string_view name(Primitive primitive) {
  switch (primitive) {
    case Primitive::none:
      return "none";
    case Primitive::all_reduce:
      return "all_reduce";
    case Primitive::reduce_scatter:
      return "reduce_scatter";
    case Primitive::all_gather:
      return "all_gather";
    case Primitive::all_to_all:
      return "all_to_all";
    case Primitive::shift:
      return "send_recv";
    case Primitive::send:
      return "send";
    case Primitive::recv:
      return "recv";
    case Primitive::broadcast:
      return "broadcast";
    case Primitive::reduce:
      return "reduce";
  }
  SHARDSIM_CHECK(false, "primitive without a name");
}

std::string_view name(Axis axis) {
  switch (axis) {
    case Axis::tp:
      return "tp";
    case Axis::cp:
      return "cp";
    case Axis::ep:
      return "ep";
    case Axis::dp:
      return "dp";
    case Axis::pp:
      return "pp";
    case Axis::etp:
      return "etp";
    case Axis::edp:
      return "edp";
  }
  SHARDSIM_CHECK(false, "axis without a name");
}

std::string group_name(AxisSet axes) {
  std::vector<std::string> words;
  for (const Axis axis : {Axis::tp, Axis::cp, Axis::etp, Axis::ep, Axis::edp, Axis::dp, Axis::pp}) {
    if ((axes & axis_set(axis)) != 0) {
      words.emplace_back(name(axis));
    }
  }
  return join(words, "-");
}

}  // namespace shardsim
