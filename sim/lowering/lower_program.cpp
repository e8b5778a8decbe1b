#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "base/errors.h"
#include "lowering/job.h"

namespace shardsim {
namespace {

// Which groups each program uses: [program][groups].
std::vector<std::vector<std::uint8_t>> used_groups(const LoweringJob& job) {
  const Program& program = job.program;
  std::vector<std::vector<std::uint8_t>> of_template;
  for (const PassTemplate& pass : program.templates) {
    std::vector<std::uint8_t>& used = of_template.emplace_back(job.groups.size(), std::uint8_t{0});
    for (const Op& op : pass.ops) {
      const std::int32_t groups =
          op.kind == OpKind::communication ? at(job.groups_of_communication, op.communication) : -1;
      if (groups >= 0) {
        at(used, groups) = 1;
      }
    }
  }
  std::vector<std::vector<std::uint8_t>> result;
  for (const RankProgram& rank_program : program.programs) {
    std::vector<std::uint8_t>& used = result.emplace_back(job.groups.size(), std::uint8_t{0});
    for (const Pass& pass : rank_program.passes) {
      const auto& from = at(of_template, pass.pass_template);
      for (std::size_t i = 0; i < used.size(); ++i) {
        used[i] = static_cast<std::uint8_t>(used[i] | from[i]);
      }
    }
  }
  return result;
}

// Numbers the kinds of ranks by first occurrence. A kind is one number in mixed radix, so that each
// rank costs one look into a hash table.
std::vector<RankKind> find_kinds(const LoweringJob& job, std::vector<std::int32_t>& kind_of_rank) {
  const auto used = used_groups(job);
  auto possible = static_cast<double>(job.program.programs.size());
  for (const Groups& groups : job.groups) {
    possible *= static_cast<double>(groups.shapes.size());
  }
  SHARDSIM_CHECK(possible < 1e18, "too many shapes of groups to number their combinations");
  std::vector<RankKind> kinds;
  std::unordered_map<std::uint64_t, std::int32_t> known;
  kind_of_rank.reserve(job.program.program_of_rank.size());
  std::uint64_t last_key = std::numeric_limits<std::uint64_t>::max();
  for (Rank rank = 0; rank < job.grid.ranks(); ++rank) {
    const std::int32_t program = at(job.program.program_of_rank, rank);
    auto key = static_cast<std::uint64_t>(program);
    for (std::size_t i = 0; i < job.groups.size(); ++i) {
      const Groups& groups = job.groups[i];
      const std::int32_t group = at(groups.group_of_rank, rank);
      const bool takes_part = at(at(used, program), i) != 0 && group >= 0;
      key = key * groups.shapes.size() +
            static_cast<std::uint64_t>(takes_part ? at(groups.shape_of_group, group) : 0);
    }
    if (key == last_key) {
      kind_of_rank.push_back(kind_of_rank.back());
      continue;
    }
    last_key = key;
    const auto [found, added] = known.try_emplace(key, count(kinds));
    kind_of_rank.push_back(found->second);
    if (added) {
      RankKind kind{.program = program};
      for (std::size_t i = 0; i < job.groups.size(); ++i) {
        const Groups& groups = job.groups[i];
        const std::int32_t group = at(groups.group_of_rank, rank);
        const bool takes_part = at(at(used, program), i) != 0 && group >= 0;
        kind.shapes.push_back(takes_part ? at(groups.shape_of_group, group) : 0);
      }
      kinds.push_back(std::move(kind));
    }
  }
  return kinds;
}

void find_slots(const LoweringJob& job, RankKind& kind) {
  std::vector<std::uint8_t> seen(job.program.templates.size(), 0);
  for (const Pass& pass : at(job.program.programs, kind.program).passes) {
    if (at(seen, pass.pass_template)++ == 0) {
      collect_slots(job, kind, at(job.program.templates, pass.pass_template), kind.slots);
    }
  }
  std::sort(kind.slots.begin(), kind.slots.end());
}

Slot describe(const LoweringJob& job, const SlotKey& key) {
  if (key.kind == SlotKey::Kind::send || key.kind == SlotKey::Kind::recv) {
    const bool sends = key.kind == SlotKey::Kind::send;
    return {.group = "pp", .algorithm = "send_recv", .role = sends ? 1 : 2};
  }
  Slot slot{.group = group_name(at(job.groups, key.groups).key.axes)};
  switch (key.part) {
    case Part::ring:
      slot.algorithm = "ring";
      break;
    case Part::cycle:
      slot.algorithm = "send_recv";
      break;
    case Part::node:
      slot.algorithm = "hierarchical: node";
      break;
    case Part::rail:
      slot.algorithm = "hierarchical: rail";
      break;
    case Part::pairs:
      slot.algorithm = "pairwise";
      break;
    case Part::forwarded:
      slot.algorithm = "forwarded";
      break;
    case Part::scalar:
      slot.algorithm = "latency";
      break;
  }
  if (key.kind == SlotKey::Kind::ring_send) {
    slot.role = 1;
  } else if (key.kind == SlotKey::Kind::ring_recv) {
    slot.role = 2;
  }
  return slot;
}

// Templates are shared by kinds that see the same operations: same source, slots and shapes.
class Programs {
 public:
  Programs(const LoweringJob& job, Lowered& lowered) : job_(job), lowered_(lowered) {}

  void add(const RankKind& kind) {
    const RankProgram& source = at(job_.program.programs, kind.program);
    LoweredProgram program{.source = kind.program, .stage = source.stage};
    for (const Pass& pass : source.passes) {
      program.passes.push_back({.pass_template = template_of(kind, pass.pass_template),
                                .micro_batch = pass.micro_batch,
                                .chunk = pass.chunk});
    }
    for (const SlotKey& key : kind.slots) {
      program.slots.push_back(describe(job_, key));
    }
    apply_overlap_slowdown(job_, kind, program, lowered_);
    lowered_.programs.push_back(std::move(program));
  }

 private:
  struct Key {
    std::int32_t source = 0;
    std::vector<std::int32_t> shapes;
    std::vector<SlotKey> slots;
    // clang-tidy 14 misreads a defaulted <=>. NOLINTNEXTLINE(modernize-use-nullptr)
    auto operator<=>(const Key&) const = default;
  };

  std::int32_t template_of(const RankKind& kind, std::int32_t source) {
    Key key{.source = source, .shapes = kind.shapes, .slots = kind.slots};
    const auto [found, added] = known_.try_emplace(std::move(key), count(lowered_.templates));
    if (added) {
      lowered_.templates.push_back(lower_template(job_, kind, source));
    }
    return found->second;
  }

  const LoweringJob& job_;
  Lowered& lowered_;
  std::map<Key, std::int32_t> known_;
};

}  // namespace

Lowered lower_program(const Program& program, const RunSpec& run, const RankGrid& grid,
                      const Fabric& fabric, const NodeMap& map, const LoweringOptions& options) {
  const LoweringJob job = make_job(program, run, grid, fabric, map, options);
  Lowered lowered;
  lowered.labels = program.labels;
  std::vector<RankKind> kinds = find_kinds(job, lowered.program_of_rank);
  Programs programs(job, lowered);
  for (RankKind& kind : kinds) {
    find_slots(job, kind);
    programs.add(kind);
  }
  bind_lanes(job, kinds, lowered);
  lowered.speed_of_rank.reserve(map.gpu_of_rank.size());
  for (const GpuId gpu : map.gpu_of_rank) {
    lowered.speed_of_rank.push_back(at(fabric.gpu_speed, gpu));
  }
  lowered.link_capacity.reserve(fabric.links.size());
  lowered.link_can_bind.reserve(fabric.links.size());
  for (const FabricLink& link : fabric.links) {
    lowered.link_capacity.push_back(link.capacity);
    lowered.link_can_bind.push_back(link.can_bind ? 1 : 0);
  }
  return lowered;
}

}  // namespace shardsim
