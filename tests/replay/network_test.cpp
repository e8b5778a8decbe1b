// The SimGrid configuration, pinned: with defaults the first flow would take 1.23 s.
#include "replay/network.h"

#include <sys/wait.h>
#include <unistd.h>

#include <simgrid/kernel/Timer.hpp>

#include "support/catch.h"

namespace shardsim {
namespace {

// Runs `measure` in a child, for a process may have one engine only.
template <class Measure>
double in_child(Measure measure) {
  int ends[2] = {0, 0};
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const double result = measure();
    const auto written = ::write(ends[1], &result, sizeof result);
    ::_exit(written == sizeof result ? 0 : 1);
  }
  ::close(ends[1]);
  double result = -1;
  const auto got = ::read(ends[0], &result, sizeof result);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(got == sizeof result);
  return result;
}

double flow_end(double capacity_Bps, double scale, double bytes, std::int64_t weight) {
  return in_child([=] {
    Network network({BytesPerSecond{capacity_Bps}}, scale);
    double end = -1;
    network.on_flow_end([&](std::int64_t tag) { end = tag == 42 ? network.now_s() : -2; });
    simgrid::kernel::timer::Timer::set(0.0, [&] {
      network.start_flow({{0, weight}}, static_cast<std::uint64_t>(bytes * scale), 1, 42);
    });
    network.run();
    return end;
  });
}

TEST_CASE("network: a flow takes its bytes over the capacity and nothing else") {
  CHECK(flow_end(50e9, 1.0, 50e9, 1) == 1.0);
  CHECK(flow_end(1e9, 1.0, 1e9, 1) == 1.0);
}

TEST_CASE("network: the scale of payloads does not change times") {
  CHECK(flow_end(50e9, 1048576.0, 50e9, 1) == 1.0);
  CHECK(flow_end(47e9, 1048576.0, 1.5, 1) == Approx(1.5 / 47e9).epsilon(1e-6));
}

TEST_CASE("network: a link that occurs k times in a route is consumed k times") {
  CHECK(flow_end(50e9, 1.0, 50e9, 8) == Approx(8.0).epsilon(1e-14));
}

TEST_CASE("network: a flow of share n gets n times the rate, alone no more than the link has") {
  // Over 3 GB/s: 2 GB of share 2 get 2 GB/s and end at 1 s, as 1 GB of share 1 do; then 1 GB more
  // of the first flow alone would take 1/3 s.
  const auto ends = [](std::uint64_t bytes) {
    return in_child([=] {
      Network network({BytesPerSecond{3e9}}, 1.0);
      double last = -1;
      network.on_flow_end([&](std::int64_t) { last = network.now_s(); });
      simgrid::kernel::timer::Timer::set(0.0, [&] {
        network.start_flow({{0, 1}}, bytes, 2, 1);
        network.start_flow({{0, 1}}, 1'000'000'000, 1, 2);
      });
      network.run();
      return last;
    });
  };
  CHECK(ends(2'000'000'000) == Approx(1.0).epsilon(1e-14));
  CHECK(ends(3'000'000'000) == Approx(1.0 + 1.0 / 3).epsilon(1e-14));
}

TEST_CASE("network: timers are exact") {
  CHECK(in_child([] {
          Network network({}, 1.0);
          double seen = -1;
          simgrid::kernel::timer::Timer::set(0.1, [&] {
            simgrid::kernel::timer::Timer::set(0.1 + 0.2, [&] { seen = network.now_s(); });
          });
          network.run();
          return seen;
        }) == 0.1 + 0.2);
}

}  // namespace
}  // namespace shardsim
