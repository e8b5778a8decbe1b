// A forward and a backward woven into one pass, and shared experts beside dispatch and combine.
#include "workload/pair_pass.h"

#include <algorithm>

#include "programs.h"
#include "support/catch.h"
#include "support/moe_jobs.h"
#include "workload/exposure.h"
#include "workload/pass_builder.h"

using namespace shardsim;
using namespace shardsim::programs;

namespace {

RunSpec dual_pipe_job(bool paired) {
  RunSpec run = jobs::moe_job({.pp = 4, .dp = 4, .ep = 4, .zero = 1, .micro_batches = 12});
  run.training.schedule = "dualpipe";
  run.training.overlap.ep = paired;
  return run;
}

RunSpec shared_job(bool beside, std::int64_t tp = 1) {
  RunSpec run = jobs::moe_job({.tp = tp, .dp = 4, .ep = 4});
  run.model.moe->shared_ffn = 256;
  run.training.overlap.ep = beside;
  return run;
}

// begin, `kernels` kernels, each but the last followed by an exchange that the next waits for.
PassTemplate row(ProgramTables& tables, const std::string& name, PassKind kind, int kernels) {
  PassBuilder pass(tables, name, kind);
  pass.host(Stream::compute, "begin " + name, 0, mask(Stream::ep));
  KernelShape shape;
  shape.bytes = Bytes{1000};
  const Communication exchange{.primitive = Primitive::all_to_all,
                               .group = axis_set(Axis::ep),
                               .bytes = Bytes{100},
                               .trigger = "exchange " + name};
  for (int i = 0; i < kernels; ++i) {
    const std::int32_t op = pass.kernel(name + std::to_string(i), shape, Category::compute);
    pass.take(Bytes{i + 1}, op);
    if (i + 1 < kernels) {
      pass.wait(pass.communicate(Stream::ep, Category::ep, exchange));
    }
  }
  return pass.finish();
}

std::string order_of(const ProgramTables& tables, const PassTemplate& pass) {
  std::string text;
  for (const Op& op : pass.ops) {
    text += op.stream == Stream::compute ? at(tables.program.labels, op.label) + " " : "x ";
  }
  return text;
}

std::int64_t exposed(const Program& program, const std::string& trigger) {
  std::int64_t sum = 0;
  for (const CommunicationCount& one : count_communications(program, program.programs.at(1))) {
    const bool asked = at(program.communications, one.communication).trigger == trigger;
    sum += asked ? one.exposed : 0;
  }
  return sum;
}

}  // namespace

TEST_CASE("pair: sections between exchanges alternate") {
  ProgramTables tables;
  const PassTemplate f = row(tables, "F", PassKind::forward, 3);
  const PassTemplate b = row(tables, "B", PassKind::backward, 3);
  const PassTemplate pair = pair_pass(f, b);
  CHECK(order_of(tables, pair) == "begin F begin B F0 x B0 x F1 x B1 x F2 B2 ");
  CHECK(pair.kind == PassKind::pair);
  const PassTemplate longer = row(tables, "B", PassKind::backward, 5);
  CHECK(order_of(tables, pair_pass(f, longer)) ==
        "begin F begin B B0 x F0 x B1 x F1 x B2 x B3 x F2 B4 ");
}

// Each kernel still waits for its own exchange, and for nothing of the other pass but its turn.
TEST_CASE("pair: dependencies and memory stay with their operations") {
  ProgramTables tables;
  const PassTemplate f = row(tables, "F", PassKind::forward, 2);
  const PassTemplate b = row(tables, "B", PassKind::backward, 2);
  const PassTemplate pair = pair_pass(f, b);
  // begin F, begin B, F0, exchange F, B0, exchange B, F1, B1
  const auto deps = [&](std::int32_t op) {
    const Op& one = at(pair.ops, op);
    return std::vector<std::int32_t>(pair.deps.begin() + one.first_dep,
                                     pair.deps.begin() + one.first_dep + one.dep_count);
  };
  CHECK(deps(3) == std::vector<std::int32_t>{2});
  CHECK(deps(5) == std::vector<std::int32_t>{4});
  CHECK(deps(6) == std::vector<std::int32_t>{3});
  CHECK(deps(7) == std::vector<std::int32_t>{5});
  std::vector<std::pair<std::int32_t, std::int64_t>> memory;
  for (const MemoryEvent& event : pair.memory) {
    memory.emplace_back(event.op, event.delta.value());
  }
  CHECK(memory ==
        std::vector<std::pair<std::int32_t, std::int64_t>>{{2, 1}, {4, 1}, {6, 2}, {7, 2}});
}

// Nothing is lost and nothing is done twice; paired, the dispatch of a forward hides behind the
// backward's experts.
TEST_CASE("pair: dualpipe with overlap.ep does the same work with less exposed") {
  const Program apart = build(dual_pipe_job(false));
  const Program paired = build(dual_pipe_job(true));
  for (std::size_t stage = 0; stage < 4; ++stage) {
    CHECK(program_flops(paired, stage, Category::compute) ==
          Approx(program_flops(apart, stage, Category::compute)).epsilon(1e-12));
    CHECK(communications(paired, stage).at({Category::ep, Primitive::all_to_all}).times ==
          communications(apart, stage).at({Category::ep, Primitive::all_to_all}).times);
  }
  std::int64_t pairs = 0;
  for (const Pass& pass : paired.programs.front().passes) {
    pairs += pass.backward_micro_batch >= 0 ? 1 : 0;
  }
  CHECK(pairs > 0);
  CHECK(exposed(paired, "dispatch") < exposed(apart, "dispatch"));
  CHECK(exposed(paired, "combine dgrad") < exposed(apart, "combine dgrad"));
}

TEST_CASE("pair: without overlap.ep, dualpipe or ep passes follow each other") {
  RunSpec run = dual_pipe_job(true);
  run.training.schedule = "1f1b";
  RunSpec dense = dual_pipe_job(true);
  dense.model.moe.reset();
  dense.parallel.ep = 1;
  for (const RunSpec& one : {run, dense, dual_pipe_job(false)}) {
    const Program program = build(one);
    for (const PassTemplate& t : program.templates) {
      CHECK(t.kind != PassKind::pair);
    }
  }
}

// Megatron's moe_shared_expert_overlap: the first product beside dispatch, the second beside
// combine; backward the other way round.
TEST_CASE("overlap.ep: shared experts run beside dispatch and combine") {
  const auto exposed_of = [](const RunSpec& run, const std::string& trigger) {
    const Program program = build(run);
    std::int64_t sum = 0;
    for (const CommunicationCount& one : count_communications(program, program.programs.at(0))) {
      const bool asked = at(program.communications, one.communication).trigger == trigger;
      sum += asked ? one.exposed : 0;
    }
    return sum;
  };
  for (const std::string trigger : {"dispatch", "combine", "dispatch dgrad", "combine dgrad"}) {
    INFO(trigger);
    CHECK(exposed_of(shared_job(false), trigger) == 4);
    CHECK(exposed_of(shared_job(true), trigger) == 0);
  }
}

TEST_CASE("overlap.ep: the same work, memory and messages, in another order") {
  for (const std::int64_t tp : {1, 2}) {
    const Program apart = build(shared_job(false, tp));
    const Program beside = build(shared_job(true, tp));
    CHECK(program_flops(beside, 0, Category::compute) ==
          Approx(program_flops(apart, 0, Category::compute)).epsilon(1e-12));
    CHECK(beside.programs.front().parameters == apart.programs.front().parameters);
    const Counts one = communications(apart, 0);
    const Counts other = communications(beside, 0);
    for (const auto& [key, counted] : one) {
      CHECK(other.at(key).times == counted.times);
      CHECK(other.at(key).bytes == counted.bytes);
    }
  }
}
