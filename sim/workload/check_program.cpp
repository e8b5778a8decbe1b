#include "workload/check_program.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "base/ids.h"
#include "workload/check_execution.h"
#include "workload/memory.h"

namespace shardsim {
namespace {

template <class Vector>
bool is_index(const Vector& vector, std::int32_t index) {
  return index >= 0 && index < count(vector);
}

std::string place(const PassTemplate& pass_template, std::int32_t op) {
  return fmt::format("template {}, operation {}", pass_template.name, op);
}

void check_kind(const Program& program, const PassTemplate& t, std::int32_t i) {
  const Op& op = at(t.ops, i);
  switch (op.kind) {
    case OpKind::kernel:
      SHARDSIM_CHECK(is_index(program.kernels, op.kernel), place(t, i));
      SHARDSIM_CHECK(op.communication == -1, place(t, i));
      return;
    case OpKind::communication:
      SHARDSIM_CHECK(is_index(program.communications, op.communication), place(t, i));
      SHARDSIM_CHECK(op.kernel == -1, place(t, i));
      return;
    case OpKind::host:
      SHARDSIM_CHECK(op.stream == Stream::host ? op.launches > 0
                                               : op.stream == Stream::compute && op.launches == 0,
                     place(t, i));
      return;
  }
}

void check_template(const Program& program, const PassTemplate& t) {
  for (std::int32_t i = 0; i < count(t.ops); ++i) {
    const Op& op = at(t.ops, i);
    SHARDSIM_CHECK(static_cast<std::size_t>(op.stream) < kStreamCount, place(t, i));
    SHARDSIM_CHECK(static_cast<std::size_t>(op.category) < kCategoryCount, place(t, i));
    SHARDSIM_CHECK(op.join < (1U << kStreamCount), place(t, i));
    SHARDSIM_CHECK(is_index(program.labels, op.label), place(t, i));
    SHARDSIM_CHECK(op.layer >= -1, place(t, i));
    check_kind(program, t, i);
    SHARDSIM_CHECK(op.first_dep >= 0 && op.dep_count >= 0 &&
                       std::int64_t{op.first_dep} + op.dep_count <= count(t.deps),
                   place(t, i));
    for (std::int32_t d = 0; d < op.dep_count; ++d) {
      const std::int32_t dep = at(t.deps, op.first_dep + d);
      SHARDSIM_CHECK(dep >= 0 && dep < i, place(t, i) + " depends on " + std::to_string(dep));
    }
  }
  std::int32_t last = 0;
  for (const MemoryEvent& event : t.memory) {
    SHARDSIM_CHECK(is_index(t.ops, event.op) && event.op >= last, place(t, event.op));
    SHARDSIM_CHECK(is_index(program.labels, event.label), place(t, event.op));
    last = event.op;
  }
}

void check_communication(const Communication& c, std::int32_t index) {
  const std::string text = fmt::format("communication {} ({})", index, c.trigger);
  const bool point_to_point = c.primitive == Primitive::send || c.primitive == Primitive::recv;
  SHARDSIM_CHECK(c.primitive != Primitive::none, text);
  SHARDSIM_CHECK(point_to_point == (c.group == 0), text);
  SHARDSIM_CHECK(point_to_point == (c.stage_offset != 0), text);
  SHARDSIM_CHECK(c.bytes > Bytes{0}, text);
}

void check_rank_program(const Program& program, std::int32_t index) {
  const RankProgram& rank = at(program.programs, index);
  for (std::int32_t p = 0; p < count(rank.passes); ++p) {
    const Pass& pass = at(rank.passes, p);
    const std::string text = fmt::format("program {}, pass {}", index, p);
    SHARDSIM_CHECK(is_index(program.templates, pass.pass_template), text);
    SHARDSIM_CHECK(pass.micro_batch >= -1 && pass.chunk >= 0, text);
  }
  const ActivationPeak memory = activation_peak(program, rank);
  SHARDSIM_CHECK(memory.at_end == Bytes{0},
                 fmt::format("program {} leaves {} B of activations at the step's end", index,
                             memory.at_end.value()));
}

void check_ranks(const Program& program, const RankGrid& grid) {
  SHARDSIM_CHECK(count(program.program_of_rank) == grid.ranks(), "one program per rank");
  for (Rank rank = 0; rank < grid.ranks(); ++rank) {
    const std::int32_t index = at(program.program_of_rank, rank);
    SHARDSIM_CHECK(is_index(program.programs, index), fmt::format("rank {}", rank));
    SHARDSIM_CHECK(at(program.programs, index).stage == grid.coordinate(rank, Axis::pp),
                   fmt::format("rank {} runs the program of another stage", rank));
  }
}

}  // namespace

void check_program(const Program& program, const RankGrid& grid) {
  for (const PassTemplate& pass_template : program.templates) {
    check_template(program, pass_template);
  }
  for (std::int32_t i = 0; i < count(program.communications); ++i) {
    check_communication(at(program.communications, i), i);
  }
  for (std::int32_t i = 0; i < count(program.programs); ++i) {
    check_rank_program(program, i);
  }
  check_ranks(program, grid);
  const Meetings meetings = find_meetings(program, grid);
  check_meetings(program, meetings);
  check_execution(program, meetings);
}

}  // namespace shardsim
