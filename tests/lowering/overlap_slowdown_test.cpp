// Kernels beside communication in flight, by hand.
#include "lowering/hand_lowering.h"
#include "support/catch.h"

namespace shardsim {
namespace {

// Kernels of 3 and 4 ms beside a reduce-scatter that takes 5 ms alone (half of S at 369 GB/s).
HandProgram overlapped(std::int64_t tp_bytes) {
  HandProgram hand;
  const auto before = hand.kernel(1e-3);
  hand.collective(Primitive::reduce_scatter, kTp, tp_bytes, Stream::tp, {before});
  hand.kernel(3e-3);
  hand.kernel(4e-3);
  return hand;
}

RunSpec slowed(double slowdown) {
  RunSpec run = round_run(2, 1, 1);
  run.cluster.node.nvlink.latency = Seconds{};
  run.training.overlap_slowdown = slowdown;
  return run;
}

const std::int64_t kFiveMs = std::int64_t{2} * 1'845'000'000;  // half of it at 369 GB/s takes 5 ms

TEST_CASE("overlap slowdown: kernels of 3 and 4 ms beside 5 ms end at 3.9 and 8.5 ms") {
  HandProgram hand = overlapped(kFiveMs);
  hand.add_program({{.pass_template = hand.end_template()}});
  const Job job = lower(hand, slowed(0.3));
  const auto& ops = at(job.lowered.templates, job.lowered.programs[0].passes[0].pass_template).ops;
  CHECK(ops[0].duration.value() == Approx(1e-3));  // before it
  CHECK(ops[2].duration.value() == Approx(3.9e-3));
  CHECK(ops[2].duration.value() + ops[3].duration.value() == Approx(8.5e-3));
}

TEST_CASE("overlap slowdown: kernels from the first that waits on are not slowed") {
  HandProgram hand;
  const auto before = hand.kernel(1e-3);
  const auto sum = hand.collective(Primitive::reduce_scatter, kTp, kFiveMs, Stream::tp, {before});
  hand.kernel(3e-3);
  hand.kernel(4e-3, {sum});
  hand.kernel(5e-3);
  hand.add_program({{.pass_template = hand.end_template()}});
  const Job job = lower(hand, slowed(0.3));
  const auto& ops = at(job.lowered.templates, job.lowered.programs[0].passes[0].pass_template).ops;
  CHECK(ops[2].duration.value() == Approx(3.9e-3));
  CHECK(ops[3].duration.value() == Approx(4e-3));
  CHECK(ops[4].duration.value() == Approx(5e-3));
}

TEST_CASE("overlap slowdown: what waits through another stream waits too") {
  // The second collective follows the first on its stream; the last kernel joins the stream.
  HandProgram hand;
  const auto before = hand.kernel(1e-3);
  hand.collective(Primitive::reduce_scatter, kTp, kFiveMs, Stream::tp, {before});
  hand.collective(Primitive::reduce_scatter, kTp, 0, Stream::tp);
  hand.kernel(2e-3, {}, mask(Stream::tp));
  hand.add_program({{.pass_template = hand.end_template()}});
  const Job job = lower(hand, slowed(0.3));
  CHECK(job.lowered.templates.size() == 1);  // nothing lengthened: no variant
}

TEST_CASE("overlap slowdown: time covered twice counts once") {
  // Two collectives of 5 ms depend on the same kernel: both cover 3 + 2 ms.
  HandProgram hand;
  const auto before = hand.kernel(1e-3);
  hand.collective(Primitive::reduce_scatter, kTp, kFiveMs, Stream::tp, {before});
  hand.collective(Primitive::all_gather, kTp, kFiveMs, Stream::dp, {before});
  hand.kernel(3e-3);
  hand.kernel(4e-3);
  hand.add_program({{.pass_template = hand.end_template()}});
  const Job job = lower(hand, slowed(0.3));
  const auto& ops = at(job.lowered.templates, job.lowered.programs[0].passes[0].pass_template).ops;
  CHECK(ops[3].duration.value() == Approx(3.9e-3));
  CHECK(ops[4].duration.value() == Approx(4.6e-3));
}

TEST_CASE("overlap slowdown: it reaches into later passes, which get variants of their template") {
  // Pass A: kernel 1 ms, then the collective. Passes B: one kernel of 2 ms each. 5 ms cover
  // B1 and B2 wholly and half of B3; B4 is untouched.
  HandProgram hand;
  const auto before = hand.kernel(1e-3);
  hand.collective(Primitive::reduce_scatter, kTp, kFiveMs, Stream::tp, {before});
  const auto a = hand.end_template();
  hand.kernel(2e-3);
  const auto b = hand.end_template();
  hand.add_program({{.pass_template = a},
                    {.pass_template = b},
                    {.pass_template = b},
                    {.pass_template = b},
                    {.pass_template = b}});
  const Job job = lower(hand, slowed(0.5));
  const auto& passes = job.lowered.programs[0].passes;
  const auto duration = [&](std::size_t pass) {
    return at(job.lowered.templates, passes[pass].pass_template).ops[0].duration.value();
  };
  CHECK(duration(1) == Approx(3e-3));
  CHECK(duration(2) == Approx(3e-3));
  CHECK(duration(3) == Approx(2.5e-3));
  CHECK(duration(4) == Approx(2e-3));
  CHECK(passes[1].pass_template == passes[2].pass_template);
  CHECK(job.lowered.templates.size() == 4);
}

TEST_CASE("overlap slowdown: messages between stages do not count") {
  RunSpec run = slowed(0.3);
  run.parallel.tp = 1;
  run.parallel.pp = 2;
  HandProgram hand;
  hand.message(Primitive::send, +1, kFiveMs, Stream::pp_send_forward);
  hand.kernel(3e-3);
  const auto first = hand.end_template();
  hand.message(Primitive::recv, -1, kFiveMs, Stream::pp_recv_forward);
  hand.kernel(3e-3);
  const auto second = hand.end_template();
  hand.add_program({{.pass_template = first}}, 0);
  hand.add_program({{.pass_template = second}}, 1);
  CHECK(lower(hand, run).lowered.templates.size() == 2);
}

}  // namespace
}  // namespace shardsim
