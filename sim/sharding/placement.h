// Placements of tensors over one axis of the rank grid, and the communication between them.
//
// A producer yields a tensor in one placement, a consumer needs it in another; the pair decides the
// collective. Backward is the transposed transition: the gradient flows from the consumer to the
// producer, and its placements follow from the forward ones (see gradient_*).
//
//   Partial -> Replicate      all_reduce        Shard(a) -> Replicate   all_gather
//   Partial -> Shard(a)       reduce_scatter    Shard(a) -> Shard(b)    all_to_all
//   Replicate -> Shard(a), or equal             none
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sharding/primitive.h"

namespace shardsim {

enum class Dim : std::uint8_t {  // named axes of tensors
  batch,
  sequence,
  hidden,
  head,
  kv_head,   // cut together with head: each rank holds the keys and values its queries need
  head_dim,  // never cut
  ffn,
  gate,  // 2 for the fused up and gate projection; never cut
  vocab,
  key,       // the other sequence axis of attention scores
  position,  // rows of the learned position table
  layer,
  expert,
  latent,        // of mla; never cut
  concatenated,  // 2h: two hidden vectors beside each other; never cut
  token,         // a sequence's place in the batch: cut by whatever cuts batch, sequence or experts
};
[[nodiscard]] std::string_view name(
    Dim dim);  // "b" "s" "h" "head" "kv_head" ... "V" "L" "E" "latent" "2h" "token"

struct Placement {
  enum class Kind : std::uint8_t { replicate, shard, partial };
  Kind kind = Kind::replicate;
  Dim dim = Dim::batch;  // of shard only
  bool operator==(const Placement&) const = default;
};
inline constexpr Placement kReplicate{};
inline constexpr Placement kPartial{Placement::Kind::partial, Dim::batch};
[[nodiscard]] constexpr Placement shard(Dim dim) { return {Placement::Kind::shard, dim}; }
[[nodiscard]] std::string to_text(Placement placement);  // "Replicate", "Shard(s)", "Partial"

// The collective that turns what is yielded into what is needed. Nothing turns a whole or cut
// tensor into unsummed parts: InternalError for yielded other than Partial -> Partial.
[[nodiscard]] Primitive transition(Placement yielded, Placement needed);

// What one axis asks of one operator: placement of its input, its main weight and its output.
struct AxisRow {
  Placement needs;
  Placement weight;
  Placement yields;
  bool operator==(const AxisRow&) const = default;
};
// Whether the axis cuts the operator at all; otherwise every rank of the axis does the same work.
[[nodiscard]] bool is_cut(const AxisRow& row);

// Gradient of the operator's input as the operator yields it: Shard stays; each rank of a cut
// operator has only its part of the gradient of a whole input.
[[nodiscard]] Placement gradient_of_input(const AxisRow& row);
// Gradient of its output as the operator needs it: the summand of a sum needs all of its gradient.
[[nodiscard]] Placement gradient_of_output(const AxisRow& row);
// Gradient of a weight placed as `weight`: Partial where a whole weight met a part of the tokens.
[[nodiscard]] Placement gradient_of_weight(const AxisRow& row, Placement weight);

}  // namespace shardsim
