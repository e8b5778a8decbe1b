// Program -> Lowered by hand: what costs nothing, timers, the dump.
#include "lowering/hand_lowering.h"
#include "support/catch.h"

namespace shardsim {
namespace {

TEST_CASE("lowering: a group of one and a message of no bytes cost nothing") {
  for (const auto& [tp, bytes] : {std::pair{1, kMiB}, std::pair{8, std::int64_t{0}}}) {
    const Job job = lower_collective(round_run(tp, 1, 1), Primitive::all_reduce, bytes);
    REQUIRE(job.lowered.templates[0].ops.size() == 1);
    CHECK(!job.lowered.templates[0].ops[0].is_flow);
    CHECK(job.lowered.templates[0].ops[0].duration.value() == 0);
    CHECK(job.lowered.lanes.empty());
  }
}

TEST_CASE("lowering: kernels take their time, the host its launches") {
  // 2e9 B at 1 TB/s = 2 ms; 10 launches of 5 us.
  HandProgram hand;
  hand.kernel(0.002);
  hand.host(10);
  hand.add_program({{.pass_template = hand.end_template()}});
  const Job job = lower(hand, round_run(1, 1, 1));
  CHECK(job.lowered.templates[0].ops[0].duration.value() == Approx(0.002));
  CHECK(job.lowered.templates[0].ops[1].duration.value() == Approx(50e-6));
}

TEST_CASE("lowering: the dump has a line per item") {
  const Job job = lower_collective(round_run(2, 1, 1), Primitive::all_reduce, kMiB);
  CHECK(dump_lowered(job.lowered) ==
        "template 0 \"T0\" of 0\n"
        "  op 0 tp dp flow slot 0 latency 0 s steps 2 amount 1048576 B message 1048576 B"
        " \"hand-written\"\n"
        "program 0 of 0 stage 0\n"
        "  slot 0 tp ring\n"
        "  pass template 0 micro batch -1 chunk 0\n"
        "rank 0 program 0 speed 1 lanes 0\n"
        "rank 1 program 0 speed 1 lanes 0\n"
        "lane 0 kind 0 hop 7e-07 s links 1x0 1x1 1x2 1x3\n");
}

}  // namespace
}  // namespace shardsim
