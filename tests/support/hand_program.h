// Programs written by hand, for tests of lowering and replay: kernels of a given time and
// communications, without a model. Kernels are memory traffic, so on `round_gpu` (1 TB/s,
// efficiency 1) a kernel of t seconds moves t * 1e12 bytes.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sharding/rank_grid.h"
#include "workload/program.h"

namespace shardsim::test {

class HandProgram {
 public:
  // ---- operations of the template being written; each returns its index
  std::int32_t kernel(double seconds, std::vector<std::int32_t> deps = {}, StreamMask join = 0) {
    KernelShape shape;
    shape.bytes = Bytes{std::llround(seconds * 1e12)};
    program.kernels.push_back(shape);
    Op op;
    op.kernel = count(program.kernels) - 1;
    return add(op, std::move(deps), join);
  }

  std::int32_t host(std::int32_t launches, std::vector<std::int32_t> deps = {}) {
    Op op;
    op.kind = OpKind::host;
    op.stream = Stream::host;
    op.category = Category::other;
    op.launches = launches;
    return add(op, std::move(deps), 0);
  }

  std::int32_t collective(Primitive primitive, AxisSet group, std::int64_t bytes, Stream stream,
                          std::vector<std::int32_t> deps = {}, StreamMask join = 0) {
    Communication communication;
    communication.primitive = primitive;
    communication.group = group;
    communication.bytes = Bytes{bytes};
    return communicate(communication, stream, std::move(deps), join);
  }

  std::int32_t message(Primitive primitive, std::int32_t stage_offset, std::int64_t bytes,
                       Stream stream, std::vector<std::int32_t> deps = {}) {
    Communication communication;
    communication.primitive = primitive;
    communication.stage_offset = stage_offset;
    communication.bytes = Bytes{bytes};
    return communicate(communication, stream, std::move(deps), 0);
  }

  std::int32_t communicate(const Communication& communication, Stream stream,
                           std::vector<std::int32_t> deps, StreamMask join) {
    program.communications.push_back(communication);
    Op op;
    op.kind = OpKind::communication;
    op.stream = stream;
    op.category = Category::dp;
    op.communication = count(program.communications) - 1;
    return add(op, std::move(deps), join);
  }

  // Ends the template and returns its number.
  std::int32_t end_template(PassKind kind = PassKind::forward) {
    template_.name = "T" + std::to_string(program.templates.size());
    template_.kind = kind;
    program.templates.push_back(std::exchange(template_, {}));
    return count(program.templates) - 1;
  }

  void add_program(const std::vector<Pass>& passes, std::int32_t stage = 0) {
    RankProgram rank_program;
    rank_program.stage = stage;
    rank_program.passes = passes;
    program.programs.push_back(std::move(rank_program));
  }

  // One program for all ranks, or one per stage when there are several.
  Program finish(const RankGrid& grid) {
    program.labels = {"hand-written"};
    program.program_of_rank.clear();
    for (Rank rank = 0; rank < grid.ranks(); ++rank) {
      program.program_of_rank.push_back(
          program.programs.size() == 1 ? 0 : grid.coordinate(rank, Axis::pp));
    }
    return program;
  }

  Program program;

 private:
  std::int32_t add(Op op, std::vector<std::int32_t> deps, StreamMask join) {
    op.first_dep = count(template_.deps);
    op.dep_count = count(deps);
    op.join = join;
    template_.deps.insert(template_.deps.end(), deps.begin(), deps.end());
    template_.ops.push_back(op);
    return count(template_.ops) - 1;
  }

  PassTemplate template_;
};

}  // namespace shardsim::test
