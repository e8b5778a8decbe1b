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
      network.start_flow({{0, weight}}, static_cast<std::uint64_t>(bytes * scale), 42);
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
