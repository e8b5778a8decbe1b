// Who meets whom in a Program, for check_program: the slots through which kinds of ranks meet, the
// uses of each in order, and the check that partners agree on them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "sharding/rank_grid.h"
#include "workload/program.h"

namespace shardsim {

// A slot: the group of a collective, or one end of a stage boundary in one direction.
struct SlotKey {
  AxisSet group = 0;
  std::int32_t stage_offset = 0;
  Primitive end = Primitive::none;  // send or recv; none for collectives
  bool end_stages_only = false;
  std::int32_t neighbours = 0;
  std::int32_t strided = 0;
  bool mirrored_stages = false;
  std::int32_t channel = 0;
  auto operator<=>(const SlotKey&) const = default;
};

struct Use {
  std::int32_t pass = 0;
  std::int32_t op = 0;
};

struct SlotUses {  // of one kind of rank
  std::vector<Use> uses;
  std::int32_t partner_slot = -1;      // -1: nobody uses the other end
  std::vector<std::int32_t> partners;  // kinds of ranks it meets, itself included
};

struct TemplateIndex {
  std::vector<std::int32_t> slot;                              // per operation, -1 = none
  std::vector<std::int32_t> nth;                               // use of its slot within the pass
  std::vector<std::int32_t> uses;                              // per slot
  std::array<std::vector<std::int32_t>, kStreamCount> queues;  // operations of each stream
};

struct Meetings {
  std::vector<SlotKey> slots;
  std::vector<TemplateIndex> templates;
  std::vector<std::vector<SlotUses>> uses;  // [kind of rank][slot]
};

// "program 2, pass 5 (F c0, micro batch 3), operation 12 (recv of activations)", for messages.
[[nodiscard]] std::string place_text(const Program& program, std::int32_t rank_program,
                                     std::int32_t pass, std::int32_t op);

// REQUIRES: indices of `program` are valid.
[[nodiscard]] Meetings find_meetings(const Program& program, const RankGrid& grid);

// Partners use a slot equally often, with equal communications in equal order: else InternalError.
void check_meetings(const Program& program, const Meetings& meetings);

}  // namespace shardsim
