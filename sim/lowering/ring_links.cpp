#include "lowering/ring_links.h"

#include <algorithm>
#include <limits>

#include "base/errors.h"

namespace shardsim {

RouteSummer::RouteSummer(const Fabric& fabric) : fabric_(fabric), weight_(fabric.links.size(), 0) {}

void RouteSummer::add_edge(GpuId from, GpuId to, std::int64_t times) {
  route_.links.clear();
  route_.latency = Seconds{};
  route(fabric_, from, to, route_);
  for (const LinkId link : route_.links) {
    if (at(weight_, link) == 0) {
      touched_.push_back(link);
    }
    at(weight_, link) += times;
  }
  const double latency = route_.latency.value();
  for (auto& [known, often] : latencies_) {
    if (known == latency) {
      ++often;
      return;
    }
  }
  latencies_.emplace_back(latency, 1);
}

// Summed in the order of the values: lanes with equal hops then have the same mean to the last bit.
void RouteSummer::finish(RouteSum& out) {
  std::sort(touched_.begin(), touched_.end());
  out.uses.clear();
  for (const LinkId link : touched_) {
    out.uses.push_back({.link = link, .weight = at(weight_, link)});
    at(weight_, link) = 0;
  }
  touched_.clear();
  std::sort(latencies_.begin(), latencies_.end());
  double sum = 0;
  std::int64_t edges = 0;
  for (const auto& [latency, times] : latencies_) {
    sum += latency * static_cast<double>(times);
    edges += times;
  }
  out.hop_latency = Seconds{sum / static_cast<double>(edges)};
  latencies_.clear();
}

void RouteSummer::node_ring(std::span<const GpuId> gpus) {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    add_edge(gpus[i], gpus[(i + 1) % gpus.size()]);
  }
}

void RouteSummer::channel(std::span<const GpuId> gpus, std::span<const std::size_t> node_starts,
                          std::size_t number) {
  const std::size_t nodes = node_starts.size() - 1;
  const auto entry = [&](std::size_t node) {
    const std::size_t here = node_starts[node + 1] - node_starts[node];
    return gpus[node_starts[node] + number % here];
  };
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::size_t begin = node_starts[node];
    const std::size_t here = node_starts[node + 1] - begin;
    for (std::size_t i = 0; i + 1 < here; ++i) {
      add_edge(gpus[begin + (number + i) % here], gpus[begin + (number + i + 1) % here]);
    }
    add_edge(entry(node), entry((node + 1) % nodes));
  }
}

void RouteSummer::ring(std::span<const GpuId> gpus, RouteSum& out) {
  SHARDSIM_CHECK(gpus.size() >= 2, "a ring of one");
  node_starts_.clear();
  std::size_t channels = 1;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (i == 0 || fabric_.node_of(gpus[i]) != fabric_.node_of(gpus[i - 1])) {
      node_starts_.push_back(i);
    }
    channels = std::max(channels, i - node_starts_.back() + 1);
  }
  node_starts_.push_back(gpus.size());
  if (node_starts_.size() == 2) {
    node_ring(gpus);
  } else {
    for (std::size_t number = 0; number < channels; ++number) {
      channel(gpus, node_starts_, number);
    }
  }
  finish(out);
}

void RouteSummer::pairs(std::span<const GpuId> gpus, RouteSum& out) {
  SHARDSIM_CHECK(gpus.size() >= 2, "an exchange of one");
  for (const GpuId from : gpus) {
    for (const GpuId to : gpus) {
      if (from != to) {
        add_edge(from, to);
      }
    }
  }
  finish(out);
}

void RouteSummer::forwarded(std::span<const GpuId> gpus, std::int64_t between_nodes,
                            std::int64_t in_node, RouteSum& out) {
  std::size_t per_node = 1;
  while (per_node < gpus.size() && fabric_.node_of(gpus[per_node]) == fabric_.node_of(gpus[0])) {
    ++per_node;
  }
  for (std::size_t from = 0; from < gpus.size(); ++from) {
    for (std::size_t to = 0; to < gpus.size(); ++to) {
      if (from != to && from / per_node == to / per_node) {
        add_edge(gpus[from], gpus[to], in_node);
      } else if (from != to && from % per_node == to % per_node) {
        add_edge(gpus[from], gpus[to], between_nodes);
      }
    }
  }
  finish(out);
}

void RouteSummer::cycle(std::span<const GpuId> gpus, RouteSum& out) {
  SHARDSIM_CHECK(gpus.size() >= 2, "a ring of one");
  node_ring(gpus);
  double slowest = 0;
  for (const auto& [latency, times] : latencies_) {
    slowest = std::max(slowest, latency);
  }
  finish(out);
  out.hop_latency = Seconds{slowest};
}

void RouteSummer::one_way(GpuId from, GpuId to, RouteSum& out) {
  add_edge(from, to);
  finish(out);
}

std::int32_t ring_channels(const GroupShape& shape) {
  return shape.nodes == 1 ? 1 : shape.max_per_node;
}

Pace pace_of(const Fabric& fabric, const std::vector<LinkUse>& uses) {
  Pace pace{.rate = BytesPerSecond{std::numeric_limits<double>::infinity()}};
  for (const LinkUse& use : uses) {
    const double share =
        at(fabric.links, use.link).capacity.value() / static_cast<double>(use.weight);
    if (share < pace.rate.value()) {
      pace = {.rate = BytesPerSecond{share}, .link = use.link, .weight = use.weight};
    }
  }
  return pace;
}

}  // namespace shardsim
