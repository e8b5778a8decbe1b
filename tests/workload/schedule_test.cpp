#include "workload/schedule.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/errors.h"
#include "base/ids.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

using Stages = std::vector<std::vector<ScheduledPass>>;

Stages all_stages(const Schedule& schedule, ScheduleInput input) {
  Stages result;
  for (input.stage = 0; input.stage < input.stages; ++input.stage) {
    result.push_back(schedule.passes(input));
  }
  return result;
}

// Calls `visit` for every shape with 1-5 stages, 1-4 chunks and 1-8 micro batches (and a long one)
// that a schedule does not object to.
void for_each_shape(
    const std::function<void(const Schedule&, const ScheduleInput&, const Stages&)>& visit) {
  for (const Schedule& schedule : schedules()) {
    for (std::int32_t stages = 1; stages <= 5; ++stages) {
      for (std::int32_t chunks = 1; chunks <= 4; ++chunks) {
        for (const std::int32_t m : {1, 2, 3, 4, 5, 6, 7, 8, 20}) {
          ScheduleInput input;
          input.stages = stages;
          input.chunks = chunks;
          input.micro_batches = m;
          if (schedule.objection(input).empty()) {
            INFO(schedule.name << " stages " << stages << " chunks " << chunks << " m " << m);
            visit(schedule, input, all_stages(schedule, input));
          }
        }
      }
    }
  }
}

// The model chunk that pass `pass` of `stage` runs, in layer order.
std::int32_t model_chunk(std::int32_t stage, std::int32_t stages, const ScheduledPass& pass) {
  return pass.chunk * stages + stage;
}

using Key = std::pair<std::int32_t, std::int32_t>;  // model chunk, micro batch

// What a pass needs besides its stage being free: forward the chunk before, backward the chunk
// after (the last chunk: its own forward). Nullopt: not done yet.
std::optional<double> ready_at(const std::map<Key, double> (&ends)[2], std::int32_t chunk,
                               std::int32_t last_chunk, const ScheduledPass& pass) {
  const bool forward = pass.kind == PassKind::forward;
  if (forward && chunk == 0) {
    return 0.0;
  }
  const bool turn = !forward && chunk == last_chunk;
  const std::map<Key, double>& done = ends[forward || turn ? 0 : 1];
  const auto found = done.find({turn ? chunk : chunk + (forward ? -1 : 1), pass.micro_batch});
  return found == done.end() ? std::nullopt : std::optional(found->second);
}

// The end of the last pass when forward takes `f` and backward `b` per chunk, without
// communication; -1 is a deadlock.
double execute(const Stages& stages, std::int32_t chunks, double f, double b) {
  const std::int32_t p = count(stages);
  std::map<Key, double> ends[2];
  std::vector<std::size_t> next(stages.size(), 0);
  std::vector<double> free_at(stages.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int32_t i = 0; i < p; ++i) {
      while (at(next, i) < at(stages, i).size()) {
        const ScheduledPass& pass = at(at(stages, i), at(next, i));
        const std::int32_t chunk = model_chunk(i, p, pass);
        const std::optional<double> ready = ready_at(ends, chunk, p * chunks - 1, pass);
        if (!ready) {
          break;
        }
        const bool forward = pass.kind == PassKind::forward;
        at(free_at, i) = std::max(at(free_at, i), *ready) + (forward ? f : b);
        ends[forward ? 0 : 1][{chunk, pass.micro_batch}] = at(free_at, i);
        ++at(next, i);
        moved = true;
      }
    }
  }
  for (std::int32_t i = 0; i < p; ++i) {
    if (at(next, i) != at(stages, i).size()) {
      return -1;
    }
  }
  return *std::max_element(free_at.begin(), free_at.end());
}

// Most chunk activations alive at once on a stage: from a chunk's forward to its backward.
std::int32_t most_alive(const std::vector<ScheduledPass>& passes) {
  std::int32_t alive = 0;
  std::int32_t most = 0;
  for (const ScheduledPass& pass : passes) {
    alive += pass.kind == PassKind::forward ? 1 : -1;
    most = std::max(most, alive);
  }
  return most;
}

std::string text(const std::vector<ScheduledPass>& passes) {
  std::string result;
  for (const ScheduledPass& pass : passes) {
    const bool forward = pass.kind == PassKind::forward;
    result += pass.chunk == 0 ? (forward ? "f" : "b") : (forward ? "F" : "B");
    result += std::to_string(pass.micro_batch) + " ";
  }
  result.pop_back();
  return result;
}

}  // namespace

TEST_CASE("schedule: shapes that a schedule cannot run are refused in words") {
  CHECK_THROWS_AS(find_schedule("2f2b"), InternalError);
  ScheduleInput input;
  input.stages = 4;
  input.chunks = 2;
  input.micro_batches = 6;
  CHECK(find_schedule("1f1b").objection(input) ==
        "it has one chunk per stage; use vpp 1 or schedule interleaved");
  CHECK(find_schedule("gpipe").objection(input) ==
        "it has one chunk per stage; use vpp 1 or schedule interleaved");
  CHECK(find_schedule("interleaved").objection(input) ==
        "6 micro batches are not a multiple of the 4 stages; use 4 or 8 or schedule 1f1b with vpp "
        "1");
  input.micro_batches = 3;
  CHECK(find_schedule("interleaved").objection(input) ==
        "3 micro batches are not a multiple of the 4 stages; use 4 or schedule 1f1b with vpp 1");
  input.micro_batches = 8;
  CHECK(find_schedule("interleaved").objection(input).empty());
}

TEST_CASE("schedule: each chunk runs F and then B once for each micro batch") {
  for_each_shape([](const Schedule& schedule, const ScheduleInput& input, const Stages& stages) {
    for (const std::vector<ScheduledPass>& passes : stages) {
      REQUIRE(count(passes) ==
              input.micro_batches * input.chunks * (schedule.splits_backward ? 3 : 2));
      std::map<Key, std::int32_t> seen;  // kinds run so far: F is 1, B is 2, W is 3
      for (const ScheduledPass& pass : passes) {
        REQUIRE((pass.micro_batch >= 0 && pass.micro_batch < input.micro_batches));
        REQUIRE((pass.chunk >= 0 && pass.chunk < input.chunks));
        const std::int32_t expected = pass.kind == PassKind::forward    ? 0
                                      : pass.kind == PassKind::backward ? 1
                                                                        : 2;
        REQUIRE(seen[{pass.chunk, pass.micro_batch}]++ == expected);
      }
    }
  });
}

TEST_CASE("schedule: neighbouring stages send and receive in the same order") {
  for_each_shape([](const Schedule&, const ScheduleInput& input, const Stages& stages) {
    const std::int32_t p = input.stages;
    const std::int32_t last = p * input.chunks - 1;
    for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
      const std::int32_t step = kind == PassKind::forward ? 1 : -1;
      for (std::int32_t from = 0; from < p; ++from) {
        const std::int32_t to = (from + step + p) % p;
        std::vector<Key> sent;
        std::vector<Key> received;
        for (const ScheduledPass& pass : at(stages, from)) {
          const std::int32_t next = model_chunk(from, p, pass) + step;
          if (pass.kind == kind && next >= 0 && next <= last) {
            sent.emplace_back(next, pass.micro_batch);
          }
        }
        for (const ScheduledPass& pass : at(stages, to)) {
          const std::int32_t chunk = model_chunk(to, p, pass);
          if (pass.kind == kind && chunk - step >= 0 && chunk - step <= last) {
            received.emplace_back(chunk, pass.micro_batch);
          }
        }
        REQUIRE(sent == received);
      }
    }
  });
}

TEST_CASE("schedule: no deadlock, and the published step times") {
  for_each_shape([](const Schedule& schedule, const ScheduleInput& input, const Stages& stages) {
    const std::int32_t p = input.stages;
    const std::int32_t m = input.micro_batches;
    const std::int32_t v = input.chunks;
    for (const auto& [f, b] : {std::pair{1.0, 1.0}, {1.0, 2.0}, {3.0, 2.0}}) {
      const double step = execute(stages, v, f, b);
      REQUIRE(step > 0);
      // f and b are of one chunk: a whole stage takes v of each.
      if (schedule.name == "gpipe" || schedule.name == "1f1b") {
        REQUIRE(step == (m + p - 1) * (f + b));
      } else if (schedule.name == "interleaved") {
        REQUIRE(step == Approx((m + (p - 1.0) / v) * v * (f + b)).epsilon(1e-12));
      }
    }
  });
}

TEST_CASE("schedule: activations alive are the published ones") {
  for_each_shape([](const Schedule& schedule, const ScheduleInput& input, const Stages& stages) {
    const std::int32_t p = input.stages;
    const std::int32_t m = input.micro_batches;
    const std::int32_t v = input.chunks;
    for (std::int32_t i = 0; i < p; ++i) {
      const std::int32_t most = most_alive(at(stages, i));
      if (schedule.name == "gpipe" && p > 1) {
        REQUIRE(most == m);
      } else if (v == 1 || p == 1) {
        REQUIRE(most == (v == 1 ? std::min(m, p - i) : v));
      }
    }
    // Korthikanti et al.: the first stage holds L (1 + (p - 1)/(p v)) layers; a chunk has L/(p v).
    if (schedule.name == "interleaved" && v > 1 && p > 1 && m > p) {
      REQUIRE(most_alive(stages.front()) == Approx(p * v * (1 + (p - 1.0) / (p * v))));
    }
  });
}

TEST_CASE("schedule: the drawings") {
  ScheduleInput input;
  input.stages = 2;
  input.chunks = 2;
  input.micro_batches = 4;
  const Stages interleaved = all_stages(find_schedule("interleaved"), input);
  // Warm-up of stage 0: 2 + 2 = 4 forwards, of stage 1: 2.
  CHECK(text(interleaved[0]) == "f0 f1 F0 F1 f2 B0 f3 B1 F2 b0 F3 b1 B2 B3 b2 b3");
  CHECK(text(interleaved[1]) == "f0 f1 F0 B0 F1 B1 f2 b0 f3 b1 F2 B2 F3 B3 b2 b3");
  input.stages = 3;
  input.chunks = 1;
  const Stages plain = all_stages(find_schedule("1f1b"), input);
  CHECK(text(plain[0]) == "f0 f1 f2 b0 f3 b1 b2 b3");
  CHECK(text(plain[1]) == "f0 f1 b0 f2 b1 f3 b2 b3");
  CHECK(text(plain[2]) == "f0 b0 f1 b1 f2 b2 f3 b3");
  CHECK(text(all_stages(find_schedule("gpipe"), input)[1]) == "f0 f1 f2 f3 b0 b1 b2 b3");
  input.stages = 1;  // no pipeline: every schedule alternates
  CHECK(text(find_schedule("gpipe").passes(input)) == "f0 b0 f1 b1 f2 b2 f3 b3");
}
