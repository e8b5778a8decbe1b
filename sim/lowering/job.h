// What all steps of lowering share: the inputs, the groups of each communicator, and the choice of
// algorithm for each communication and group shape.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "lowering/choose.h"
#include "lowering/groups.h"
#include "lowering/lowering.h"

namespace shardsim {

// How one communication is carried in groups of one shape.
struct Carriage {
  std::vector<Phase> phases;  // empty: costs nothing
  Seconds time_alone{};
};

struct LoweringJob {
  const Program& program;
  const RunSpec& run;
  const RankGrid& grid;
  const Fabric& fabric;
  const NodeMap& map;
  LoweringOptions options;

  std::vector<Groups> groups{};
  std::vector<std::int32_t> groups_of_communication{};  // -1: send or recv
  // By communication, then by shape of its groups. Send and recv have one entry.
  std::vector<std::vector<Carriage>> carriages{};
  std::vector<Seconds> kernel_seconds{};  // by Program::kernels
  Seconds host_per_kernel{};
};

// Finds groups and chooses algorithms. The choice sees the machine without perturbations.
[[nodiscard]] LoweringJob make_job(const Program& program, const RunSpec& run, const RankGrid& grid,
                                   const Fabric& fabric, const NodeMap& map,
                                   const LoweringOptions& options);

// A slot of any program: what it is used for. Two uses with equal keys share the slot.
struct SlotKey {
  enum class Kind : std::uint8_t { collective, ring_send, ring_recv, send, recv };
  Kind kind = Kind::collective;
  std::int32_t groups = -1;  // into LoweringJob::groups; -1 for send and recv
  Part part = Part::ring;
  std::int32_t stage_offset = 0;  // of the sender, also for recv
  std::int32_t channel = 0;       // of send and recv
  // clang-tidy 14 misreads a defaulted <=>. NOLINTNEXTLINE(modernize-use-nullptr)
  auto operator<=>(const SlotKey&) const = default;
};

// One kind of rank: a program, and the shape of each of the groups that it uses.
struct RankKind {
  std::int32_t program = 0;
  std::vector<std::int32_t> shapes{};  // by LoweringJob::groups; 0 where the program uses none
  std::vector<SlotKey> slots{};        // sorted
};

// The operations of one template, for ranks of one kind. Slots are numbered as kind.slots.
[[nodiscard]] LoweredTemplate lower_template(const LoweringJob& job, const RankKind& kind,
                                             std::int32_t source);

// The slots that the operations of a template use, for ranks of one kind.
void collect_slots(const LoweringJob& job, const RankKind& kind, const PassTemplate& from,
                   std::vector<SlotKey>& slots);

// Lengthens kernels beside collectives (DESIGN's overlap_slowdown): passes whose kernels change get
// templates of their own, appended to `lowered`.
void apply_overlap_slowdown(const LoweringJob& job, const RankKind& kind, LoweredProgram& program,
                            Lowered& lowered);

// Lanes of all ranks' slots; `kinds` is the kind of each lowered program.
void bind_lanes(const LoweringJob& job, const std::vector<RankKind>& kinds, Lowered& lowered);

}  // namespace shardsim
