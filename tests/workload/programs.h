// Programs under test: built and checked, and what their operations add up to.
#pragma once

#include <map>
#include <string>

#include "support/jobs.h"
#include "workload/build_program.h"
#include "workload/check_program.h"

namespace shardsim::programs {

inline Program build(const RunSpec& run) {
  const RankGrid grid(run.parallel);
  Program program = build_program(run, grid);
  check_program(program, grid);
  return program;
}

struct Count {
  std::int64_t times = 0;
  std::int64_t bytes = 0;
};

// Communications of one stage's step by category and primitive.
using Counts = std::map<std::pair<Category, Primitive>, Count>;

template <class Visit>
void each_op(const Program& program, std::size_t stage, Visit&& visit) {
  for (const Pass& pass : program.programs.at(stage).passes) {
    for (const Op& op : at(program.templates, pass.pass_template).ops) {
      visit(pass, op);
    }
  }
}

inline Counts communications(const Program& program, std::size_t stage,
                             const std::string& except_trigger = "") {
  Counts counts;
  each_op(program, stage, [&](const Pass&, const Op& op) {
    if (op.kind != OpKind::communication) {
      return;
    }
    const Communication& c = at(program.communications, op.communication);
    if (!except_trigger.empty() && c.trigger.rfind(except_trigger, 0) == 0) {
      return;
    }
    Count& entry = counts[{op.category, c.primitive}];
    entry.times += 1;
    entry.bytes += c.bytes.value();
  });
  return counts;
}

inline std::int64_t of_trigger(const Program& program, std::size_t stage,
                               const std::string& trigger, Bytes* bytes = nullptr) {
  std::int64_t times = 0;
  each_op(program, stage, [&](const Pass&, const Op& op) {
    if (op.kind == OpKind::communication &&
        at(program.communications, op.communication).trigger == trigger) {
      ++times;
      if (bytes != nullptr) {
        *bytes += at(program.communications, op.communication).bytes;
      }
    }
  });
  return times;
}

inline double program_flops(const Program& program, std::size_t stage, Category category) {
  double sum = 0;
  each_op(program, stage, [&](const Pass&, const Op& op) {
    if (op.kind == OpKind::kernel && op.category == category) {
      sum += flops(at(program.kernels, op.kernel)).value();
    }
  });
  return sum;
}

// Collectives of the layers alone: those on the tp group whose layer is set.
inline Count layer_collectives(const Program& program, std::size_t stage, Primitive primitive) {
  Count result;
  each_op(program, stage, [&](const Pass&, const Op& op) {
    if (op.kind == OpKind::communication && op.layer >= 0 &&
        at(program.communications, op.communication).primitive == primitive) {
      result.times += 1;
      result.bytes += at(program.communications, op.communication).bytes.value();
    }
  });
  return result;
}

}  // namespace shardsim::programs
