#include "workload/check_program.h"

#include "base/errors.h"
#include "support/catch.h"
#include "workload/dump_program.h"
#include "workload/memory.h"

using namespace shardsim;

namespace {

enum : std::int32_t { kReduce, kSendForward, kRecvForward, kSendBackward, kRecvBackward };

Communication boundary(Primitive end, std::int32_t offset) {
  Communication c;
  c.primitive = end;
  c.stage_offset = offset;
  c.bytes = Bytes{64};
  return c;
}

Op kernel(std::int32_t first_dep = 0, std::int32_t dep_count = 0) {
  Op op;
  op.kernel = 0;
  op.first_dep = first_dep;
  op.dep_count = dep_count;
  return op;
}

Op communication(std::int32_t what, Stream stream, std::int32_t first_dep = 0,
                 std::int32_t dep_count = 0) {
  Op op = kernel(first_dep, dep_count);
  op.kind = OpKind::communication;
  op.stream = stream;
  op.kernel = -1;
  op.communication = what;
  op.label = what + 1;
  return op;
}

PassTemplate pass(const std::string& name, PassKind kind, std::vector<Op> ops,
                  std::vector<std::int32_t> deps, Bytes taken) {
  return {name, kind, std::move(ops), std::move(deps), {{0, taken}}};
}

// 1f1b of 2 micro batches on 2 stages of tp 2: programs 0 and 1, ranks 0 1 | 2 3.
// Templates: 0 "F s0", 1 "B s0", 2 "F s1", 3 "B s1"; each F takes 10 B, each B gives them back.
Program two_stages() {
  Program program;
  program.labels = {"work", "reduce", "send f", "recv f", "send b", "recv b"};
  program.kernels.emplace_back();
  Communication reduce;
  reduce.primitive = Primitive::all_reduce;
  reduce.group = axis_set(Axis::tp);
  reduce.bytes = Bytes{128};
  program.communications = {reduce, boundary(Primitive::send, 1), boundary(Primitive::recv, -1),
                            boundary(Primitive::send, -1), boundary(Primitive::recv, 1)};
  const Op send_f = communication(kSendForward, Stream::pp_send_forward, 1, 1);
  const Op recv_f = communication(kRecvForward, Stream::pp_recv_forward);
  const Op send_b = communication(kSendBackward, Stream::pp_send_backward, 0, 1);
  const Op recv_b = communication(kRecvBackward, Stream::pp_recv_backward);
  program.templates = {
      pass("F s0", PassKind::forward, {kernel(), communication(kReduce, Stream::tp, 0, 1), send_f},
           {0, 1}, Bytes{10}),
      pass("B s0", PassKind::backward, {recv_b, kernel(0, 1)}, {0}, Bytes{-10}),
      pass("F s1", PassKind::forward,
           {recv_f, kernel(0, 1), communication(kReduce, Stream::tp, 1, 1)}, {0, 1}, Bytes{10}),
      pass("B s1", PassKind::backward, {kernel(), send_b}, {0}, Bytes{-10})};
  program.programs.resize(2);
  program.programs[0].passes = {{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}};
  program.programs[1].stage = 1;
  program.programs[1].passes = {{2, 0, 0}, {3, 0, 0}, {2, 1, 0}, {3, 1, 0}};
  program.program_of_rank = {0, 0, 1, 1};
  return program;
}

RankGrid grid(std::int64_t tp, std::int64_t pp) {
  ParallelSpec parallel;
  parallel.tp = tp;
  parallel.pp = pp;
  return RankGrid(parallel);
}

void check_refused(const Program& program, const std::string& why) {
  CHECK_THROWS_WITH(check_program(program, grid(2, 2)), Catch::Contains(why));
  CHECK_THROWS_AS(check_program(program, grid(2, 2)), InternalError);
}

}  // namespace

TEST_CASE("check_program: indices that point nowhere or forward") {
  Program program = two_stages();
  program.templates[0].ops[0].kernel = 1;
  check_refused(program, "template F s0, operation 0");

  program = two_stages();
  program.templates[1].deps[0] = 1;
  check_refused(program, "template B s0, operation 1 depends on 1");

  program = two_stages();
  program.programs[1].passes[2].pass_template = 4;
  check_refused(program, "program 1, pass 2");

  program = two_stages();
  program.program_of_rank = {0, 1, 0, 1};
  check_refused(program, "rank 1 runs the program of another stage");

  program = two_stages();
  program.communications[kReduce].stage_offset = 1;
  check_refused(program, "communication 0");
}

TEST_CASE("check_program: memory that does not return") {
  Program program = two_stages();
  program.templates[3].memory[0].delta = Bytes{-9};
  // Two backwards leave one byte each.
  check_refused(program, "program 1 leaves 2 B of activations");
}

TEST_CASE("check_program: what is sent and received differs") {
  Program program = two_stages();
  program.communications[kRecvForward].bytes = Bytes{63};
  check_refused(program,
                "program 0, pass 0 (F s0, micro batch 0), operation 2 (send f) meets another "
                "communication: program 1, pass 0 (F s1, micro batch 0), operation 0 (recv f)");

  program = two_stages();  // stage 1 receives once less
  program.templates.push_back(program.templates[2]);
  program.templates[4].ops.erase(program.templates[4].ops.begin());
  program.templates[4].ops[0].dep_count = 0;
  program.templates[4].ops[1].first_dep = 0;
  program.programs[1].passes[2].pass_template = 4;
  check_refused(program, "and its like run 2 times, their partners in program 1 1");
}

TEST_CASE("check_program: members of a group disagree") {
  Program program = two_stages();  // rank 1 gets a program of its own with another reduction
  program.communications.push_back(program.communications[kReduce]);
  program.communications.back().bytes = Bytes{127};
  program.templates.push_back(program.templates[0]);
  program.templates[4].ops[1].communication = 5;
  program.programs.push_back(program.programs[0]);
  program.programs[2].passes[1].pass_template = 4;
  program.program_of_rank = {0, 2, 1, 1};
  check_refused(program, "program 0, pass 1 (F s0, micro batch 1), operation 1 (reduce) meets");
}

TEST_CASE("check_program: a step that cannot end") {
  Program program = two_stages();  // stage 0 wants B0 back before it has sent F1, and F0 last
  std::swap(program.programs[0].passes[0], program.programs[0].passes[2]);
  check_refused(
      program,
      "wait for ever, among them program 0, pass 0 (B s0, micro batch 0), operation 1 (work)");
  check_refused(program, "program 1, pass 0 (F s1, micro batch 0), operation 0 (recv f)");
}

TEST_CASE("check_program: a middle stage has no part in what end stages do") {
  Program program = two_stages();
  program.communications[kReduce].group = axis_set(Axis::pp);
  program.communications[kReduce].end_stages_only = true;
  program.templates.assign(
      1, pass("end", PassKind::step_end, {communication(kReduce, Stream::dp)}, {}, Bytes{0}));
  program.programs.resize(3);
  for (std::int32_t stage = 0; stage < 3; ++stage) {
    program.programs[static_cast<std::size_t>(stage)].stage = stage;
    program.programs[static_cast<std::size_t>(stage)].passes = {{0, -1, 0}};
  }
  program.program_of_rank = {0, 0, 1, 1, 2, 2};
  CHECK_THROWS_WITH(check_program(program, grid(2, 3)),
                    Catch::Contains("program 1, pass 0 (end, micro batch -1), operation 0 "
                                    "(reduce) has nobody at its other end"));
  program.programs[1].passes.clear();
  CHECK_NOTHROW(check_program(program, grid(2, 3)));
}

TEST_CASE("check_program: a sound program passes, and is dumped line by line") {
  const Program program = two_stages();
  CHECK_NOTHROW(check_program(program, grid(2, 2)));
  const std::string text = dump_program(program);
  CHECK_THAT(text, Catch::StartsWith("program 0 stage 0 ranks 2 parameters 0 weights 0 B"));
  CHECK_THAT(text, Catch::Contains("  pass 1 F s0 micro batch 1 chunk 0\n"));
  CHECK_THAT(text, Catch::Contains("template 2 \"F s1\" forward operations 3\n"));
  CHECK_THAT(text,
             Catch::Contains("  op 1 tp compute all_reduce tp 128 B bf16 \"reduce\" deps 0\n"));
  CHECK_THAT(text, Catch::Contains("send stage +1 64 B bf16 \"send f\" deps 1\n"));
}

TEST_CASE("memory: activations over the passes, and where they peak") {
  const Program program = two_stages();
  // Stage 0: F F B B, each F takes 10 B, each B gives 10 back.
  const std::vector<PassActivations> over = activations_over_passes(program, program.programs[0]);
  CHECK(over == std::vector<PassActivations>{{Bytes{10}, Bytes{10}},
                                             {Bytes{20}, Bytes{20}},
                                             {Bytes{20}, Bytes{10}},
                                             {Bytes{10}, Bytes{0}}});
  const ActivationPeak peak = activation_peak(program, program.programs[0]);
  CHECK(peak.peak == Bytes{20});
  CHECK(peak.pass == 1);
  CHECK(peak.op == 0);
  CHECK(peak.at_end == Bytes{0});
  CHECK(activation_peak(program, program.programs[1]).peak == Bytes{10});
}

TEST_CASE("memory: an operation takes before it gives back") {
  Program program = two_stages();
  // Operation 0 of B gives back 10 and takes 4 in one go; operation 1 gives the 4 back.
  program.templates[1].memory = {{0, Bytes{-10}, 0}, {0, Bytes{4}, 0}, {1, Bytes{-4}, 0}};
  const ActivationPeak peak = activation_peak(program, program.programs[0]);
  CHECK(peak.peak == Bytes{24});
  CHECK(peak.pass == 2);
  CHECK(peak.op == 0);
  CHECK(peak.at_end == Bytes{0});
}
