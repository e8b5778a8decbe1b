#include "workload/schedule.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/errors.h"
#include "schedule_execution.h"

using namespace shardsim;
using namespace schedule_execution;

namespace {

using Key = std::pair<std::int32_t, std::int32_t>;  // model part, micro batch

ScheduleInput on_stage(ScheduleInput input, std::int32_t stage) {
  input.stage = stage;
  return input;
}

std::int32_t position(PassKind kind) {
  return kind == PassKind::forward ? 0 : kind == PassKind::backward ? 1 : 2;
}

// "" or what is wrong: every micro batch runs F, B (and W, if split) once, in this order, through
// each chunk of its way and no other.
std::string fault(const Schedule& schedule, const ScheduleInput& input,
                  const std::vector<ScheduledPass>& passes) {
  const std::int32_t chunks = chunks_held(schedule, input);
  const std::int32_t m = input.micro_batches;
  std::vector<std::int32_t> seen(static_cast<std::size_t>(chunks * m), 0);
  for (const ScheduledPass& pass : passes) {
    if (pass.micro_batch < 0 || pass.micro_batch >= m || pass.chunk < 0 || pass.chunk >= chunks) {
      return "a pass outside the shape";
    }
    if (at(seen, pass.chunk * m + pass.micro_batch)++ != position(pass.kind)) {
      return "passes of a micro batch out of order";
    }
  }
  for (std::int32_t i = 0; i < count(seen); ++i) {
    const bool passes_here = !schedule.bidirectional || (i % m < m / 2) == (i / m == 0);
    if (at(seen, i) != (!passes_here ? 0 : schedule.splits_backward ? 3 : 2)) {
      return "a micro batch without all its passes, or where it does not belong";
    }
  }
  return "";
}

// Passes run as one: F with the B that follows, B with its own W.
bool joined_well(const std::vector<ScheduledPass>& passes) {
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (!passes[i].with_next) continue;
    if (i + 1 == passes.size()) return false;
    const ScheduledPass& next = passes[i + 1];
    const bool pair = passes[i].kind == PassKind::forward && next.kind == PassKind::backward &&
                      next.with_next && next.chunk != passes[i].chunk;
    const bool full =
        passes[i].kind == PassKind::backward &&
        next == ScheduledPass{PassKind::weight, passes[i].micro_batch, passes[i].chunk};
    if (!pair && !full) return false;
  }
  return true;
}

// What stage `from` sends to the stage `step` further with passes of one kind, or (`received`) what
// that stage takes from it: micro batch and the part of the model that takes it.
std::vector<Key> messages(const Schedule& schedule, const ScheduleInput& input,
                          const std::vector<ScheduledPass>& passes, PassKind kind,
                          std::int32_t step, bool received) {
  const std::int32_t to_part = kind == PassKind::forward ? 1 : -1;
  std::vector<Key> result;
  for (const ScheduledPass& pass : passes) {
    if (pass.kind != kind || forward_step(schedule, pass.chunk) * to_part != step) continue;
    const std::int32_t part = model_part(schedule, input, pass.chunk);
    const std::int32_t other = received ? part - to_part : part + to_part;
    if (other >= 0 && other < model_parts(schedule, input)) {
      result.emplace_back(received ? part : other, pass.micro_batch);
    }
  }
  return result;
}

}  // namespace

TEST_CASE("schedule: shapes that a schedule cannot run are refused in words") {
  CHECK_THROWS_AS(find_schedule("2f2b"), InternalError);
  const ScheduleInput input = shape(4, 6, 2);
  for (const char* name : {"1f1b", "gpipe", "zb-h1", "zb-h2", "zb-1p", "zb-2p"}) {
    CHECK(find_schedule(name).objection(input) ==
          "it has one chunk per stage; use vpp 1 or schedule interleaved");
  }
  CHECK(find_schedule("interleaved").objection(input) ==
        "6 micro batches are not a multiple of the 4 stages; use 4 or 8 or schedule 1f1b with vpp "
        "1");
  CHECK(find_schedule("interleaved").objection(shape(4, 3, 2)) ==
        "3 micro batches are not a multiple of the 4 stages; use 4 or schedule 1f1b with vpp 1");
  CHECK(find_schedule("interleaved").objection(shape(4, 8, 2)).empty());
}

TEST_CASE("schedule: each micro batch runs F, B and W once through each chunk of its way") {
  for_each_shape([](const Schedule& schedule, const ScheduleInput& input, const StagePasses& all) {
    for (const std::vector<ScheduledPass>& passes : all) {
      REQUIRE(fault(schedule, input, passes).empty());
      REQUIRE(joined_well(passes));
    }
  });
}

TEST_CASE("schedule: a stage alone has the passes it has among all") {
  for_each_shape([](const Schedule& schedule, const ScheduleInput& input, const StagePasses& all) {
    const bool searched = schedule.memory_factor > 0;
    REQUIRE(searched == (schedule.all_stages != nullptr));
    for (std::int32_t i = 0; i < input.stages; i += searched ? 3 : 1) {
      REQUIRE(schedule.passes(on_stage(input, i)) == at(all, i));
    }
  });
}

TEST_CASE("schedule: neighbouring stages send and receive in the same order") {
  for_each_shape([](const Schedule& schedule, const ScheduleInput& input, const StagePasses& all) {
    const std::int32_t p = input.stages;
    for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
      for (const std::int32_t step : {1, -1}) {
        for (std::int32_t from = 0; from < p; ++from) {
          const std::int32_t to = (from + step + p) % p;
          REQUIRE(messages(schedule, on_stage(input, from), at(all, from), kind, step, false) ==
                  messages(schedule, on_stage(input, to), at(all, to), kind, step, true));
        }
      }
    }
  });
}

TEST_CASE("schedule: no deadlock, whether or not passes run as one, and the published step times") {
  for_each_shape([](const Schedule& schedule, const ScheduleInput& input, const StagePasses& all) {
    const std::int32_t p = input.stages;
    const std::int32_t m = input.micro_batches;
    const std::int32_t v = input.chunks;
    Times times;
    for (const auto& [f, b, w] : {std::tuple{1.0, 0.5, 0.5}, {1.0, 1.0, 1.0}, {3.0, 2.0, 0.0}}) {
      times.forward = f;
      times.backward = b;
      times.weight = w;
      for (const bool joined : {true, false}) {
        times.joined = joined;
        const Execution run = execute(schedule, input, all, times);
        REQUIRE(!run.deadlock);
        REQUIRE(run.end() >= m * v * (f + b + w));  // of one stage, without a gap
        // f, b, w are of one chunk: a whole stage takes v of each.
        if (schedule.name == "gpipe" || schedule.name == "1f1b") {
          REQUIRE(run.end() == (m + p - 1) * (f + b + w));
        } else if (schedule.name == "interleaved") {
          REQUIRE(run.end() == Approx((m + (p - 1.0) / v) * v * (f + b + w)).epsilon(1e-12));
        }
      }
    }
    times.message = 0.3;
    REQUIRE(!execute(schedule, input, all, times).deadlock);
  });
}

TEST_CASE("schedule: activations alive are the published ones") {
  for_each_shape([](const Schedule& schedule, const ScheduleInput& input, const StagePasses& all) {
    if (schedule.splits_backward) return;
    const std::int32_t p = input.stages;
    const std::int32_t m = input.micro_batches;
    const std::int32_t v = input.chunks;
    for (std::int32_t i = 0; i < p; ++i) {
      const std::int32_t most = most_alive(at(all, i), PassKind::backward);
      if (schedule.name == "gpipe" && p > 1) {
        REQUIRE(most == m);
      } else if (v == 1 || p == 1) {
        REQUIRE(most == (v == 1 ? std::min(m, p - i) : v));
      }
    }
    // Korthikanti et al.: the first stage holds L (1 + (p - 1)/(p v)) layers; a chunk has L/(p v).
    if (schedule.name == "interleaved" && v > 1 && p > 1 && m > p) {
      REQUIRE(most_alive(all.front(), PassKind::backward) ==
              Approx(p * v * (1 + (p - 1.0) / (p * v))));
    }
  });
}

TEST_CASE("schedule: the drawings") {
  const StagePasses interleaved = passes_of("interleaved", shape(2, 4, 2));
  // Warm-up of stage 0: 2 + 2 = 4 forwards, of stage 1: 2.
  CHECK(text(interleaved[0]) == "f0 f1 F0 F1 f2 B0 f3 B1 F2 b0 F3 b1 B2 B3 b2 b3");
  CHECK(text(interleaved[1]) == "f0 f1 F0 B0 F1 B1 f2 b0 f3 b1 F2 B2 F3 B3 b2 b3");
  const StagePasses plain = passes_of("1f1b", shape(3, 4));
  CHECK(text(plain[0]) == "f0 f1 f2 b0 f3 b1 b2 b3");
  CHECK(text(plain[1]) == "f0 f1 b0 f2 b1 f3 b2 b3");
  CHECK(text(plain[2]) == "f0 b0 f1 b1 f2 b2 f3 b3");
  CHECK(text(passes_of("gpipe", shape(3, 4))[1]) == "f0 f1 f2 f3 b0 b1 b2 b3");
  // No pipeline: every schedule alternates.
  CHECK(text(passes_of("gpipe", shape(1, 4))[0]) == "f0 b0 f1 b1 f2 b2 f3 b3");
  CHECK(text(passes_of("zb-2p", shape(1, 2))[0]) == "f0 b0 w0 f1 b1 w1");
}
