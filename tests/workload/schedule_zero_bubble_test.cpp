// zb-h1, zb-h2 and the searched zb-1p, zb-2p against arXiv 2401.10241.
#include <array>
#include <tuple>

#include "schedule_execution.h"
#include "workload/schedules/pipeline_times.h"

using namespace shardsim;
using namespace schedule_execution;

namespace {

constexpr double kNothing = 1e-9;
const std::array<const char*, 4> kNames{"zb-h1", "zb-h2", "zb-1p", "zb-2p"};

Times times_of(const PassCosts& costs) {
  return {costs.forward, costs.backward, costs.weight, costs.communication};
}

Execution execute(const std::string& name, const ScheduleInput& input) {
  return schedule_execution::execute(find_schedule(name), input, passes_of(name, input),
                                     times_of(input.costs));
}

// How much longer than its work the stage takes that takes longest.
double bubble(const std::string& name, const ScheduleInput& input) {
  const PassCosts& c = input.costs;
  return execute(name, input).longest_stage() -
         input.micro_batches * (c.forward + c.backward + c.weight);
}

double bubble_rate(const std::string& name, const ScheduleInput& input) {
  return bubble(name, input) / execute(name, input).longest_stage();
}

double most_held(const StagePasses& stages, double weight_share) {
  double most = 0;
  for (const std::vector<ScheduledPass>& passes : stages) {
    most = std::max(most, peak_activations(passes, weight_share));
  }
  return most;
}

// Visits p 1-8 with the m given and all f, b, w of 1 to 3.
void for_each_cost(const std::vector<std::int32_t>& micro_batches,
                   const std::function<void(const ScheduleInput&)>& visit) {
  for (std::int32_t p = 1; p <= 8; ++p) {
    for (const std::int32_t m : micro_batches) {
      ScheduleInput input = shape(p, m);
      for (std::int32_t code = 0; code < 27; ++code) {
        input.costs = {1.0 + code / 9, 1.0 + code / 3 % 3, 1.0 + code % 3, 0};
        INFO("p " << p << " m " << m << " f " << input.costs.forward << " b "
                  << input.costs.backward << " w " << input.costs.weight);
        visit(input);
      }
    }
  }
}

}  // namespace

TEST_CASE("zero bubble: a memory limit below one activation is refused in words") {
  ScheduleInput input = shape(4, 8);
  input.memory_limit = 0.5;
  for (const char* name : {"zb-1p", "zb-2p"}) {
    CHECK(find_schedule(name).objection(input) ==
          "a memory limit of 0.5 activations holds not even one; use 1 or more");
  }
  CHECK(find_schedule("zb-h1").objection(input).empty());  // fixed: limits do not matter
  input.memory_limit = 1;
  CHECK(find_schedule("zb-1p").objection(input).empty());
}

TEST_CASE("zero bubble: the bubbles of the handcrafted schedules are the published ones") {
  // Table 2 of the paper: 1F1B (p - 1)(f + b + w), ZB-H1 (p - 1)(f + b - w), ZB-H2
  // (p - 1)(f + b - 2w). They hold from p and 2p - 1 micro batches on and for w <= f: a longer W
  // would itself be what the next B waits for.
  for_each_cost({1, 2, 3, 4, 5, 7, 8, 11, 15, 16}, [](const ScheduleInput& input) {
    const auto& [f, b, w, message] = input.costs;
    const std::int32_t p = input.stages;
    const std::int32_t m = input.micro_batches;
    const double h1 = bubble("zb-h1", input);
    const double h2 = bubble("zb-h2", input);
    if (m >= p && w <= f) {
      REQUIRE(h1 == Approx((p - 1) * (f + b - w)).margin(kNothing));
    }
    if (m >= 2 * p - 1 && w <= f) {
      REQUIRE(h2 == Approx((p - 1) * std::max(0.0, f + b - 2 * w)).margin(kNothing));
    }
    REQUIRE(h1 <= (p - 1) * (f + b + w) + kNothing);  // never worse than 1F1B
    REQUIRE(h2 <= (p - 1) * (f + b + w) + kNothing);
    REQUIRE((m < 2 * p - 1 || h2 <= h1 + kNothing));
  });
}

TEST_CASE("zero bubble: with synchronised ends, ZB-H1 keeps its bubble and ZB-H2 does not") {
  ScheduleInput input = shape(4, 12);
  CHECK(execute("zb-h1", input).end() == 12 * 3 + 3);  // (p - 1)(f + b - w) = 3
  // Each stage is busy for 36 without a gap, the last one from (p - 1)f = 3 on.
  CHECK(execute("zb-h2", input).longest_stage() == 36);
  CHECK(execute("zb-h2", input).end() == 39);
}

TEST_CASE("zero bubble: activations held from F to W are the published ones") {
  for_each_shape([](const Schedule& schedule, const ScheduleInput& input, const StagePasses& all) {
    const std::int32_t p = input.stages;
    const std::int32_t m = input.micro_batches;
    for (std::int32_t i = 0; i < p; ++i) {
      const std::int32_t to_weight = most_alive(at(all, i), PassKind::weight);
      const std::int32_t to_backward = most_alive(at(all, i), PassKind::backward);
      if (schedule.name == "zb-h1") {  // p everywhere; p - i of them in full, as under 1F1B
        REQUIRE(to_weight == std::min(m, p));
        REQUIRE(to_backward == std::min(m, p - i));
      } else if (schedule.name == "zb-h2") {
        REQUIRE(to_weight == std::min(m, 2 * p - 1));
        REQUIRE(to_backward == std::min(m, 2 * (p - i) - 1));
      } else if (schedule.memory_factor > 0) {
        REQUIRE(to_weight <= schedule.memory_factor * p);
      }
    }
  });
}

TEST_CASE("zero bubble: what is searched is no longer than what it competes with") {
  for_each_cost({1, 2, 3, 6, 9, 16}, [](const ScheduleInput& given) {
    ScheduleInput input = given;
    for (const double message : {0.0, 0.25}) {
      input.costs.communication = message;
      const double once = bubble("zb-1p", input);
      const double twice = bubble("zb-2p", input);
      REQUIRE(once <= bubble("zb-h1", input) + 1e-6);
      REQUIRE(twice <= once + 1e-6);
      REQUIRE(twice <= bubble("zb-h2", input) + 1e-6);
      REQUIRE(twice >= -kNothing);
    }
  });
}

TEST_CASE("zero bubble: twice the memory leaves no bubble for f = b = w") {
  for (std::int32_t p = 1; p <= 8; ++p) {
    for (const std::int32_t m : {2 * p - 1, 2 * p, 3 * p, 64}) {
      INFO("p " << p << " m " << m);
      CHECK(bubble("zb-2p", shape(p, m)) == Approx(0).margin(kNothing));
      // Once the memory: (p - 1)(f + b - w), as published for ZB-1p in the paper's comparison.
      CHECK(bubble("zb-1p", shape(p, m)) == Approx(p - 1).margin(kNothing));
    }
  }
}

TEST_CASE("zero bubble: the published bubble rates of the 1.5B model") {
  // arXiv 2401.10241: times of a pass profiled on 8 stages, ms; their bubble rates with 24 micro
  // batches. W needs 32sbh of the activation of a layer, 34sbh + 5as²b (the paper's table 1, after
  // arXiv 2205.05198), with 24 heads, hidden 2304, sequence 1024.
  ScheduleInput input = shape(8, 24);
  input.costs = {18.522, 18.086, 9.337, 0.601};
  input.weight_share = 32 / (34 + 5.0 * 24 * 1024 / 2304);
  CHECK(bubble_rate("zb-h1", input) == Approx(0.1585).margin(5e-5));
  CHECK(bubble_rate("zb-h2", input) == Approx(0.1083).margin(5e-5));
  CHECK(bubble_rate("zb-1p", input) == Approx(0.1585).margin(5e-5));
  CHECK(bubble_rate("zb-2p", input) == Approx(0.0433).margin(5e-5));
  // From 4p micro batches on next to nothing is left, less than a tenth of ZB-H2's.
  for (const std::int32_t m : {32, 64}) {
    input.micro_batches = m;
    CHECK(bubble_rate("zb-2p", input) < 0.1 * bubble_rate("zb-h2", input));
  }
}

TEST_CASE("zero bubble: the search keeps to any memory limit, also in shares of an activation") {
  for (const char* name : {"zb-1p", "zb-2p"}) {
    for (std::int32_t p = 1; p <= 8; ++p) {
      double before = 1e300;
      for (const double limit : {1.0, 1.5, 2.0, 3.0, 5.5, 8.0, 12.0, 16.0, 100.0}) {
        for (const double share : {0.0, 0.3, 1.0}) {
          ScheduleInput input = shape(p, 16);
          input.costs = {1, 1.25, 0.75, 0.125};
          input.memory_limit = limit;
          input.weight_share = share;
          INFO(name << " p " << p << " limit " << limit << " share " << share);
          const double most = std::min(limit, find_schedule(name).memory_factor * p);
          REQUIRE(most_held(passes_of(name, input), share) <= most + 1e-6);
          REQUIRE(!execute(name, input).deadlock);
          if (share == 0.3) {  // one activation at a time: as bad as no pipeline at all
            const double now = bubble(name, input);
            REQUIRE(now <= before + 1e-6);
            before = now;
          }
        }
      }
    }
  }
  ScheduleInput single = shape(4, 8);
  single.memory_limit = 1;
  CHECK(text(passes_of("zb-1p", single)[0]).substr(0, 17) == "f0 b0 w0 f1 b1 w1");
}

TEST_CASE("zero bubble: uneven stages are searched with their own costs") {
  // The last stage takes twice as long: nothing can be shorter than its work, and little is longer.
  ScheduleInput input = shape(4, 32);
  input.stage_costs.assign(4, PassCosts{1, 1, 1, 0.1});
  input.stage_costs[3] = {2, 2, 2, 0.1};
  const PipelineTimes times = pipeline_times(passes_of("zb-2p", input), input);
  CHECK(times.longest_stage >= 32 * 6);
  CHECK(times.longest_stage <= 32 * 6 * 1.02);
  const PipelineTimes handcrafted = pipeline_times(passes_of("zb-h1", input), input);
  CHECK(pipeline_times(passes_of("zb-1p", input), input).longest_stage <=
        handcrafted.longest_stage + 1e-6);
}

TEST_CASE("zero bubble: two ways to work out the times agree") {
  for (const char* name : kNames) {
    ScheduleInput input = shape(5, 11);
    input.costs = {1, 1.5, 0.75, 0.25};
    const Execution toy = execute(name, input);
    const PipelineTimes times = pipeline_times(passes_of(name, input), input);
    CHECK(times.longest_stage == Approx(toy.longest_stage()).epsilon(1e-12));
    CHECK(times.end == Approx(toy.end()).epsilon(1e-12));
  }
}

TEST_CASE("zero bubble: the drawings") {
  const StagePasses h1 = passes_of("zb-h1", shape(3, 4));
  CHECK(text(h1[0]) == "f0 f1 f2 b0 w0 f3 b1 w1 b2 w2 b3 w3");
  CHECK(text(h1[1]) == "f0 f1 b0 f2 b1 w0 f3 b2 w1 b3 w2 w3");
  CHECK(text(h1[2]) == "f0 b0 f1 b1 f2 b2 w0 f3 b3 w1 w2 w3");
  const StagePasses h2 = passes_of("zb-h2", shape(3, 5));
  CHECK(text(h2[0]) == "f0 f1 f2 f3 f4 b0 w0 b1 w1 b2 w2 b3 w3 b4 w4");
  CHECK(text(h2[1]) == "f0 f1 f2 b0 f3 b1 f4 b2 w0 b3 w1 b4 w2 w3 w4");
  CHECK(text(h2[2]) == "f0 b0 f1 b1 f2 b2 f3 b3 f4 b4 w0 w1 w2 w3 w4");
  ScheduleInput input = shape(2, 3);
  input.costs = {1, 2, 1, 0};
  const StagePasses searched = passes_of("zb-1p", input);
  CHECK(text(searched[0]) == "f0 f1 b0 w0 f2 b1 w1 b2 w2");
  CHECK(text(searched[1]) == "f0 b0 f1 b1 w0 f2 b2 w1 w2");
}
