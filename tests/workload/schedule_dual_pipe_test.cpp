// dualpipe against DeepSeek-V3 (arXiv 2412.19437) and github.com/deepseek-ai/DualPipe.
#include <tuple>

#include "schedule_execution.h"

using namespace shardsim;
using namespace schedule_execution;

namespace {

const Schedule& dual_pipe() { return find_schedule("dualpipe"); }

// Idle time of the stage that idles most, from time 0 to the end of the whole.
double most_idle(const Execution& run) {
  double idle = 0;
  for (const StageRun& stage : run.stages) idle = std::max(idle, run.end() - stage.busy);
  return idle;
}

}  // namespace

TEST_CASE("dualpipe: shapes that have no two equal ends are refused in words") {
  CHECK(dual_pipe().objection(shape(4, 16, 2)) ==
        "its stages hold two parts of the model, one per direction, and no chunks; use vpp 1");
  CHECK(dual_pipe().objection(shape(1, 16)) == "1 stage cannot be paired from both ends; use 2");
  CHECK(dual_pipe().objection(shape(5, 16)) ==
        "5 stages cannot be paired from both ends; use 4 or 6");
  CHECK(dual_pipe().objection(shape(4, 7)) ==
        "7 micro batches do not fill 4 stages from both ends; use 8 or more");
  CHECK(dual_pipe().objection(shape(4, 9)) ==
        "9 micro batches do not split in halves; use 8 or 10");
  CHECK(dual_pipe().objection(shape(4, 8)).empty());
}

TEST_CASE("dualpipe: chunk 0 runs down the stages, chunk 1 up") {
  ScheduleInput input = shape(4, 8);
  input.stage = 1;
  CHECK(chunks_held(dual_pipe(), input) == 2);
  CHECK(model_parts(dual_pipe(), input) == 4);
  CHECK(model_part(dual_pipe(), input, 0) == 1);
  CHECK(model_part(dual_pipe(), input, 1) == 2);
  CHECK(forward_step(dual_pipe(), 0) == 1);
  CHECK(forward_step(dual_pipe(), 1) == -1);
  // Interleaved, to compare: chunk 1 of stage 1 of 4 is part 5 of 8, and all run down.
  input.chunks = 2;
  CHECK(chunks_held(find_schedule("interleaved"), input) == 2);
  CHECK(model_part(find_schedule("interleaved"), input, 1) == 5);
  CHECK(forward_step(find_schedule("interleaved"), 1) == 1);
}

TEST_CASE("dualpipe: the drawing, by the eight steps of DeepSeek's program") {
  const StagePasses stages = passes_of("dualpipe", shape(4, 8));
  // Stage 0, the outer of two: 2 f; f F; B W F; 4 - 4 + 1 = 1 round of pairs; a full B and a pair;
  // B b, the latter split; W of it and a split b; W.
  CHECK(text(stages[0]) ==
        "f0 f1 f2 F4 B4 W4 F5 f3+B5+W5 F6+b0+w0 B6+W6 F7+b1+w1 B7+W7 b2 w2 b3 w3");
  // Stage 1, a middle one: f F twice; two rounds, the first forward not in a pair; B b, B b with
  // all but the first two split; two W.
  CHECK(text(stages[1]) ==
        "f0 F4 f1 F5 f2 B4+W4 F6+b0+w0 f3+B5+W5 F7+b1+w1 B6+W6 b2+w2 B7 b3 W7 w3");
}

TEST_CASE("dualpipe: a stage mirrors its opposite with the directions exchanged") {
  for (std::int32_t p = 2; p <= 8; p += 2) {
    for (std::int32_t m = 2 * p; m <= 5 * p; m += 2) {
      const StagePasses stages = passes_of("dualpipe", shape(p, m));
      for (std::int32_t i = 0; i < p / 2; ++i) {
        std::vector<ScheduledPass> mirrored = at(stages, i);
        for (ScheduledPass& pass : mirrored) {
          pass.micro_batch = (pass.micro_batch + m / 2) % m;
          pass.chunk = 1 - pass.chunk;
        }
        REQUIRE(mirrored == at(stages, p - 1 - i));
      }
    }
  }
}

TEST_CASE("dualpipe: the bubble is the published one") {
  // DeepSeek-V3's table 2: (p/2 - 1)(f&b + b - 3w), f&b the time of an overlapped pair, its b a
  // full backward (here b + w). It assumes f = b and w <= f. Here the idle time of the stage that
  // idles most: a middle one; if pairs are shorter than their parts, outer stages have fewer of
  // them, so more work and less idle time. Nothing overlapped: f&b = f + b + w.
  for (std::int32_t p = 2; p <= 16; p += 2) {
    for (const std::int32_t m : {2 * p, 2 * p + 2, 3 * p, 5 * p}) {
      const ScheduleInput input = shape(p, m);
      const StagePasses stages = passes_of("dualpipe", input);
      for (const auto& [f, b, w] :
           {std::tuple{1.0, 1.0, 1.0}, {2.0, 2.0, 1.0}, {3.0, 3.0, 2.0}, {1.0, 1.0, 0.0}}) {
        for (const double share : {1.0, 0.75}) {
          const double pair = share * (f + b + w);
          const Execution run = execute(dual_pipe(), input, stages, {f, b, w, 0, pair});
          INFO("p " << p << " m " << m << " f " << f << " w " << w << " f&b " << pair);
          const double published = (p / 2.0 - 1) * (pair + (b + w) - 3 * w);
          REQUIRE(most_idle(run) == Approx(published).margin(1e-9));
          if (share == 1) {  // all stages have the same work
            REQUIRE(run.end() == Approx(m * (f + b + w) + published).epsilon(1e-12));
          }
        }
      }
    }
  }
}

TEST_CASE("dualpipe: unequal costs") {
  for (std::int32_t p = 2; p <= 8; p += 2) {
    const ScheduleInput input = shape(p, 3 * p);
    const StagePasses stages = passes_of("dualpipe", input);
    for (const auto& [f, b, w] :
         {std::tuple{3.0, 2.0, 1.0}, {5.0, 4.0, 4.0}, {2.0, 1.0, 1.0}, {4.0, 4.0, 1.0}}) {
      // w <= b <= f: what the middle stages wait for is the first forward to come in from the other
      // end and the last gradient to go out, p/2 - 1 stages each: f&b + f - 2w per stage.
      const double pair = f + b + w;
      const Execution run = execute(dual_pipe(), input, stages, {f, b, w, 0, pair});
      CHECK(most_idle(run) == Approx((p / 2.0 - 1) * (pair + f - 2 * w)).margin(1e-9));
      // To hand a gradient on before W is done, and an output before the backward beside it, is
      // never later.
      Times apart{f, b, w};
      apart.joined = false;
      CHECK(execute(dual_pipe(), input, stages, apart).end() <= run.end() + 1e-9);
    }
  }
}

TEST_CASE("dualpipe: at most p + 1 activations of a p-th of the model are alive") {
  for_each_shape([](const Schedule& schedule, const ScheduleInput& input, const StagePasses& all) {
    if (!schedule.bidirectional) return;
    for (const std::vector<ScheduledPass>& passes : all) {
      REQUIRE(most_alive(passes, PassKind::weight) == input.stages + 1);
      REQUIRE(most_alive(passes, PassKind::backward) == input.stages + 1);
    }
  });
}
