#include "sharding/placement.h"

#include <array>

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {

std::string_view name(Dim dim) {
  constexpr std::array<std::string_view, 16> kNames{
      "b", "s",   "h",        "head", "kv_head", "head_dim", "ffn", "gate",
      "V", "key", "position", "L",    "E",       "latent",   "2h",  "token"};
  return kNames.at(static_cast<std::size_t>(dim));
}

std::string to_text(Placement placement) {
  switch (placement.kind) {
    case Placement::Kind::replicate:
      return "Replicate";
    case Placement::Kind::shard:
      return "Shard(" + std::string(name(placement.dim)) + ")";
    case Placement::Kind::partial:
      return "Partial";
  }
  SHARDSIM_CHECK(false, "placement without a name");
}

Primitive transition(Placement yielded, Placement needed) {
  using Kind = Placement::Kind;
  if (yielded == needed) {
    return Primitive::none;
  }
  SHARDSIM_CHECK(needed.kind != Kind::partial, "no operator needs unsummed parts");
  switch (yielded.kind) {
    case Kind::partial:
      return needed.kind == Kind::replicate ? Primitive::all_reduce : Primitive::reduce_scatter;
    case Kind::shard:
      return needed.kind == Kind::replicate ? Primitive::all_gather : Primitive::all_to_all;
    case Kind::replicate:
      return Primitive::none;
  }
  SHARDSIM_CHECK(false, "transition without a primitive");
}

bool is_cut(const AxisRow& row) {
  return row.needs != kReplicate || row.weight != kReplicate || row.yields != kReplicate;
}

Placement gradient_of_input(const AxisRow& row) {
  if (row.needs.kind == Placement::Kind::shard) {
    return row.needs;
  }
  return row.needs == kReplicate && is_cut(row) ? kPartial : kReplicate;
}

Placement gradient_of_output(const AxisRow& row) {
  return row.yields.kind == Placement::Kind::shard ? row.yields : kReplicate;
}

Placement gradient_of_weight(const AxisRow& row, Placement weight) {
  if (weight.kind == Placement::Kind::shard) {
    return weight;
  }
  return is_cut(row) ? kPartial : kReplicate;
}

}  // namespace shardsim
