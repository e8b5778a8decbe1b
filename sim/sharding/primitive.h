// Communication primitives and the groups that run them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "spec/run_spec.h"

namespace shardsim {

enum class Primitive : std::uint8_t {
  none,
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  shift,  // every rank of the group sends to the next one and receives from the one before
  send,
  recv,
  broadcast,
  reduce
};
[[nodiscard]] std::string_view name(Primitive primitive);  // spelled as in JSON

// A set of grid axes, by bit: the group of a rank is all ranks that agree with it on the others of
// the same grid, the dense one (tp cp dp pp) or the experts' (etp ep edp pp).
using AxisSet = std::uint8_t;
[[nodiscard]] constexpr AxisSet axis_set(Axis axis) {
  return static_cast<AxisSet>(1U << static_cast<unsigned>(axis));
}
[[nodiscard]] std::string_view name(Axis axis);      // "tp" "cp" "ep" "dp" "pp" "etp" "edp"
[[nodiscard]] std::string group_name(AxisSet axes);  // "tp", "cp-dp"

}  // namespace shardsim
