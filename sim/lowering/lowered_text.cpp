#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/errors.h"
#include "lowering/lowering.h"

namespace shardsim {
namespace {

void check_template(const LoweredTemplate& lowered) {
  for (std::int32_t i = 0; i < count(lowered.ops); ++i) {
    const LoweredOp& op = at(lowered.ops, i);
    SHARDSIM_CHECK(static_cast<std::size_t>(op.stream) < kLoweredStreamCount &&
                       op.join >> kLoweredStreamCount == 0,
                   lowered.name + ": unknown stream");
    SHARDSIM_CHECK(std::isfinite(op.duration.value()) && op.duration.value() >= 0 &&
                       std::isfinite(op.amount) && op.amount >= 0 && std::isfinite(op.steps) &&
                       op.steps >= 0,
                   lowered.name + ": a cost is negative or not finite");
    SHARDSIM_CHECK(op.is_flow == (op.slot >= 0), lowered.name + ": flows and slots differ");
    SHARDSIM_CHECK(op.first_dep >= 0 && op.dep_count >= 0 &&
                       op.first_dep + op.dep_count <= count(lowered.deps),
                   lowered.name + ": deps out of range");
    for (std::int32_t d = 0; d < op.dep_count; ++d) {
      const std::int32_t before = at(lowered.deps, op.first_dep + d);
      SHARDSIM_CHECK(before >= 0 && before < i, lowered.name + ": a dep is not earlier");
    }
  }
}

void check_program(const Lowered& lowered, const LoweredProgram& program) {
  for (const LoweredPass& pass : program.passes) {
    SHARDSIM_CHECK(pass.pass_template >= 0 && pass.pass_template < count(lowered.templates),
                   "a pass has no template");
    for (const LoweredOp& op : at(lowered.templates, pass.pass_template).ops) {
      SHARDSIM_CHECK(op.slot < count(program.slots), "an operation uses an unknown slot");
    }
  }
}

void check_lane(const Lowered& lowered, const Lane& lane) {
  SHARDSIM_CHECK(lane.hop_latency.value() >= 0, "a lane has a negative latency");
  SHARDSIM_CHECK(lane.first_use >= 0 && lane.first_use + lane.use_count <= count(lowered.uses),
                 "a lane's links are out of range");
  for (std::int32_t u = 0; u < lane.use_count; ++u) {
    const LinkUse& use = at(lowered.uses, lane.first_use + u);
    SHARDSIM_CHECK(use.link >= 0 && use.link < count(lowered.link_capacity) && use.weight > 0,
                   "a lane uses an unknown link or none of it");
    SHARDSIM_CHECK(u == 0 || at(lowered.uses, lane.first_use + u - 1).link < use.link,
                   "a lane's links are not in order");
    SHARDSIM_CHECK(at(lowered.link_capacity, use.link).value() > 0,
                   "link " + std::to_string(use.link) + " carries flows and has no capacity");
  }
}

std::string_view stream_name(Stream stream) {
  static constexpr std::string_view kReceiving[] = {"tp_receive", "cp_receive", "ep_receive",
                                                    "dp_receive"};
  const auto number = static_cast<std::size_t>(stream);
  return number < kStreamCount ? name(stream) : kReceiving[number - kStreamCount];
}

void dump_op(const Lowered& lowered, const LoweredTemplate& from, std::int32_t index,
             std::string& out) {
  const LoweredOp& op = at(from.ops, index);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "  op {} {} {}", index, stream_name(op.stream), name(op.category));
  if (op.is_flow) {
    fmt::format_to(to, " flow slot {} latency {:.9g} s steps {:.9g} amount {:.15g} B message {} B",
                   op.slot, op.duration.value(), op.steps, op.amount, op.message.value());
  } else {
    fmt::format_to(to, " timer {:.9g} s", op.duration.value());
  }
  for (std::int32_t d = 0; d < op.dep_count; ++d) {
    fmt::format_to(to, "{}{}", d == 0 ? " after " : ",", at(from.deps, op.first_dep + d));
  }
  for (std::size_t stream = 0; stream < kLoweredStreamCount; ++stream) {
    if ((op.join >> stream & 1U) != 0) {
      fmt::format_to(to, " joins {}", stream_name(static_cast<Stream>(stream)));
    }
  }
  if (op.layer >= 0) {
    fmt::format_to(to, " layer {}", op.layer);
  }
  if (op.label >= 0 && op.label < count(lowered.labels)) {
    fmt::format_to(to, " \"{}\"", at(lowered.labels, op.label));
  }
  out += '\n';
}

}  // namespace

void check_lowered(const Lowered& lowered) {
  const std::size_t ranks = lowered.program_of_rank.size();
  SHARDSIM_CHECK(lowered.speed_of_rank.size() == ranks && lowered.first_slot.size() == ranks + 1,
                 "per-rank tables differ in size");
  SHARDSIM_CHECK(lowered.link_can_bind.size() == lowered.link_capacity.size(),
                 "per-link tables differ in size");
  for (const LoweredTemplate& from : lowered.templates) {
    check_template(from);
  }
  for (const LoweredProgram& program : lowered.programs) {
    check_program(lowered, program);
  }
  for (const Lane& lane : lowered.lanes) {
    check_lane(lowered, lane);
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    SHARDSIM_CHECK(lowered.speed_of_rank[rank] > 0, "a rank has no speed");
    SHARDSIM_CHECK(lowered.first_slot[rank + 1] - lowered.first_slot[rank] ==
                       count(at(lowered.programs, lowered.program_of_rank[rank]).slots),
                   "a rank binds other slots than its program has");
  }
  for (const LaneId lane : lowered.slot_lanes) {
    SHARDSIM_CHECK(lane >= 0 && lane < count(lowered.lanes), "a slot has no lane");
  }
}

std::string dump_lowered(const Lowered& lowered) {
  std::string out;
  auto to = std::back_inserter(out);
  for (std::int32_t t = 0; t < count(lowered.templates); ++t) {
    const LoweredTemplate& from = at(lowered.templates, t);
    fmt::format_to(to, "template {} \"{}\" of {}\n", t, from.name, from.source);
    for (std::int32_t i = 0; i < count(from.ops); ++i) {
      dump_op(lowered, from, i, out);
    }
  }
  for (std::int32_t p = 0; p < count(lowered.programs); ++p) {
    const LoweredProgram& program = at(lowered.programs, p);
    fmt::format_to(to, "program {} of {} stage {}\n", p, program.source, program.stage);
    for (std::int32_t s = 0; s < count(program.slots); ++s) {
      const Slot& slot = at(program.slots, s);
      fmt::format_to(to, "  slot {} {} {}\n", s, slot.group, slot.algorithm);
    }
    for (const LoweredPass& pass : program.passes) {
      fmt::format_to(to, "  pass template {} micro batch {} chunk {}\n", pass.pass_template,
                     pass.micro_batch, pass.chunk);
    }
  }
  for (Rank rank = 0; rank < count(lowered.program_of_rank); ++rank) {
    fmt::format_to(to, "rank {} program {} speed {:.9g} lanes", rank,
                   at(lowered.program_of_rank, rank), at(lowered.speed_of_rank, rank));
    for (std::int32_t s = at(lowered.first_slot, rank); s < at(lowered.first_slot, rank + 1); ++s) {
      fmt::format_to(to, " {}", at(lowered.slot_lanes, s));
    }
    out += '\n';
  }
  for (LaneId lane = 0; lane < count(lowered.lanes); ++lane) {
    const Lane& row = at(lowered.lanes, lane);
    fmt::format_to(to, "lane {} kind {} hop {:.9g} s links", lane, row.kind,
                   row.hop_latency.value());
    for (std::int32_t u = 0; u < row.use_count; ++u) {
      const LinkUse& use = at(lowered.uses, row.first_use + u);
      fmt::format_to(to, " {}x{}", use.weight, use.link);
    }
    out += '\n';
  }
  return out;
}

}  // namespace shardsim
