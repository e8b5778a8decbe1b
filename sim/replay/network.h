// The SimGrid side of a replay: links, one flow at a time put on any list of them, and the clock.
//
// All links are made before the zone is sealed; afterwards a flow takes its links from a list that
// the zone hands out while the flow starts (SimGrid reads the route synchronously), so one source
// and one destination host serve all flows. Links have no latency: SimGrid would weigh shares by
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/units.h"

namespace shardsim {

// A link occurs `weight` times in a route, and is consumed that many times.
struct RouteUse {
  std::int32_t link = 0;
  std::int64_t weight = 1;
};

class Network {
 public:
  // `scale` multiplies all capacities; amounts of flows are given already scaled (SimGrid counts
  // payloads in integers, a scale keeps their rounding below what a double resolves).
  // InternalError if an engine exists or existed in this process.
  Network(const std::vector<BytesPerSecond>& capacities, double scale);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // `ended(tag)` is called at the end of each flow.
  void on_flow_end(std::function<void(std::int64_t tag)> ended);
  // A flow of share n gets n times the rate of one of share 1 where both meet. So a flow whose
  // weights have a divisor n may be given with weights / n, n * amount and share n, which is
  // cheaper: SimGrid goes through a route link by link, as often as each occurs.
  void start_flow(const std::vector<RouteUse>& route, std::uint64_t scaled_amount,
                  std::int64_t share, std::int64_t tag);
  [[nodiscard]] double now_s() const;
  void run();  // until nothing is left to happen

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace shardsim
