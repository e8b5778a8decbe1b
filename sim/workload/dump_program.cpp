#include "workload/dump_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

std::string kernel_text(const KernelShape& shape) {
  const std::string batch = shape.batch == 1 ? "" : fmt::format("{} x ", shape.batch);
  const std::string extra =
      shape.bytes == Bytes{0} ? "" : fmt::format(" + {} B", shape.bytes.value());
  switch (shape.kind) {
    case KernelKind::gemm:
    case KernelKind::grouped_gemm:
      return fmt::format("{} {}[{},{}]x[{},{}] {}{}",
                         shape.kind == KernelKind::gemm ? "gemm" : "grouped_gemm", batch, shape.m,
                         shape.k, shape.k, shape.n, name(shape.precision), extra);
    case KernelKind::flash_attention:
      return fmt::format("flash_attention {} {}q {} kv {} d {}{} {}{}",
                         shape.backward ? "backward" : "forward", batch, shape.sequence_q,
                         shape.sequence_kv, shape.head_dim, shape.causal ? " causal" : "",
                         name(shape.precision), extra);
    case KernelKind::memory:
      return fmt::format("memory {} B{}", shape.bytes.value(),
                         shape.elementwise ? " elementwise" : "");
  }
  SHARDSIM_CHECK(false, "kernel kind without a text");
}

std::string communication_text(const Communication& c) {
  const std::string whom =
      c.group == 0 ? fmt::format("stage {:+d}{}", c.stage_offset, c.channel == 0 ? "" : " mirrored")
                   : group_name(c.group) + (c.end_stages_only ? " end stages" : "") +
                         (c.neighbours > 0 ? fmt::format(" by {}", c.neighbours) : "") +
                         (c.strided > 0 ? fmt::format(" every {}", c.strided) : "") +
                         (c.mirrored_stages ? " mirrored stages" : "");
  return fmt::format("{} {} {} B {}", name(c.primitive), whom, c.bytes.value(), name(c.dtype));
}

std::string work_text(const Program& program, const Op& op) {
  switch (op.kind) {
    case OpKind::kernel:
      return kernel_text(at(program.kernels, op.kernel));
    case OpKind::communication:
      return communication_text(at(program.communications, op.communication));
    case OpKind::host:
      return fmt::format("host {} launches", op.launches);
  }
  SHARDSIM_CHECK(false, "operation kind without a text");
}

std::string op_text(const Program& program, const PassTemplate& t, std::int32_t i) {
  const Op& op = at(t.ops, i);
  std::string line = fmt::format("  op {} {} {} {} \"{}\"", i, name(op.stream), name(op.category),
                                 work_text(program, op), at(program.labels, op.label));
  if (op.layer >= 0) {
    line += fmt::format(" layer {}", op.layer);
  }
  for (std::int32_t d = 0; d < op.dep_count; ++d) {
    line += fmt::format("{}{}", d == 0 ? " deps " : ",", at(t.deps, op.first_dep + d));
  }
  const char* separator = " join ";
  for (std::size_t s = 0; s < kStreamCount; ++s) {
    if ((op.join & mask(static_cast<Stream>(s))) != 0) {
      line += fmt::format("{}{}", separator, name(static_cast<Stream>(s)));
      separator = ",";
    }
  }
  for (const MemoryEvent& event : t.memory) {
    if (event.op == i) {
      line += fmt::format(" {:+d} B ({})", event.delta.value(), at(program.labels, event.label));
    }
  }
  return line + "\n";
}

std::string rank_program_text(const Program& program, std::int32_t index) {
  const RankProgram& rank = at(program.programs, index);
  const auto ranks =
      std::count(program.program_of_rank.begin(), program.program_of_rank.end(), index);
  std::string text = fmt::format(
      "program {} stage {} ranks {} parameters {} weights {} B gradients {} B optimizer {} B "
      "other {} B\n",
      index, rank.stage, ranks, rank.parameters, rank.memory.weights.value(),
      rank.memory.gradients.value(), rank.memory.optimizer.value(), rank.memory.other.value());
  for (std::int32_t p = 0; p < count(rank.passes); ++p) {
    const Pass& pass = at(rank.passes, p);
    text += fmt::format("  pass {} {}", p, at(program.templates, pass.pass_template).name);
    text += pass.micro_batch < 0
                ? "\n"
                : fmt::format(" micro batch {} chunk {}{}\n", pass.micro_batch, pass.chunk,
                              pass.backward_micro_batch < 0
                                  ? ""
                                  : fmt::format(", backward micro batch {} chunk {}",
                                                pass.backward_micro_batch, pass.backward_chunk));
  }
  return text;
}

}  // namespace

std::string_view name(PassKind kind) {
  switch (kind) {
    case PassKind::step_begin:
      return "step_begin";
    case PassKind::forward:
      return "forward";
    case PassKind::backward:
      return "backward";
    case PassKind::weight:
      return "weight";
    case PassKind::pair:
      return "pair";
    case PassKind::step_end:
      return "step_end";
  }
  SHARDSIM_CHECK(false, "pass kind without a name");
}

std::string dump_program(const Program& program) {
  std::string text;
  for (std::int32_t i = 0; i < count(program.programs); ++i) {
    text += rank_program_text(program, i);
  }
  for (std::int32_t i = 0; i < count(program.templates); ++i) {
    const PassTemplate& t = at(program.templates, i);
    text +=
        fmt::format("template {} \"{}\" {} operations {}\n", i, t.name, name(t.kind), t.ops.size());
    for (std::int32_t op = 0; op < count(t.ops); ++op) {
      text += op_text(program, t, op);
    }
  }
  return text;
}

}  // namespace shardsim
