// Random fabrics: a route is a walk from port to port along links that meet, whatever the sizes.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "platform/fabric.h"
#include "support/catch.h"
#include "support/clusters.h"

namespace shardsim {

namespace {

// A place where links meet: {"gpu", node, local}, {"nvswitch", node, 0}, {"port", node, nic},
// {"leaf", leaf, 0}, {"spine", pod, 0}, {"core", 0, 0}.
using Place = std::tuple<std::string, int, int>;
struct Ends {
  Place from;
  Place to;
};

// Where a link leads, from its name alone and the rules of the drawing: written apart from sim/.
struct Drawing {
  int rails = 0;
  int nodes_per_leaf = 0;
  int groups_per_pod = 0;
  bool pcie = false;

  [[nodiscard]] Ends ends(const std::string& name) const {
    const std::size_t dot = name.rfind('.');
    const std::string way = name.substr(dot + 1);
    Ends out = ends_upwards(name.substr(0, dot));
    if (way == "rx" || way == "down") {
      std::swap(out.from, out.to);
    }
    return out;
  }

  [[nodiscard]] Ends ends_upwards(const std::string& name) const {
    int a = 0;
    int b = 0;
    if (std::sscanf(name.c_str(), "node%d.gpu%d.nvlink", &a, &b) == 2) {
      return {{"gpu", a, b}, {"nvswitch", a, 0}};
    }
    if (std::sscanf(name.c_str(), "node%d.pcie%d", &a, &b) == 2) {
      return {{"gpu", a, b}, {"port", a, b}};
    }
    if (std::sscanf(name.c_str(), "node%d.nic%d", &a, &b) == 2) {
      const Place port = pcie ? Place{"port", a, b} : Place{"gpu", a, b};
      return {port, {"leaf", a / nodes_per_leaf * rails + b, 0}};
    }
    if (std::sscanf(name.c_str(), "leaf%d", &a) == 1) {
      return {{"leaf", a, 0}, {"spine", a / rails / groups_per_pod, 0}};
    }
    REQUIRE(std::sscanf(name.c_str(), "pod%d", &a) == 1);
    return {{"spine", a, 0}, {"core", 0, 0}};
  }
};

void check_walk(const Fabric& fabric, const Drawing& drawing, GpuId from, GpuId to) {
  Route path;
  route(fabric, from, to, path);
  Place here{"gpu", fabric.node_of(from), fabric.local_of(from)};
  std::set<Place> seen{here};
  for (LinkId link : path.links) {
    const Ends ends = drawing.ends(link_name(fabric, link));
    REQUIRE(ends.from == here);
    here = ends.to;
    REQUIRE(seen.insert(here).second);  // never the same place twice
  }
  REQUIRE(here == Place{"gpu", fabric.node_of(to), fabric.local_of(to)});
  REQUIRE(path.crosses_nodes == (fabric.node_of(from) != fabric.node_of(to)));
}

// Without a change of rail over NVLink, the way back is the way forth with every link turned.
void check_mirror(const Fabric& fabric, GpuId from, GpuId to) {
  if (fabric.cluster.fabric.pxn && fabric.local_of(from) != fabric.local_of(to) &&
      fabric.node_of(from) != fabric.node_of(to)) {
    return;
  }
  Route forth;
  Route back;
  route(fabric, from, to, forth);
  route(fabric, to, from, back);
  REQUIRE(forth.links.size() == back.links.size());
  for (std::size_t i = 0; i < forth.links.size(); ++i) {
    // directions are neighbours: tx and up even, rx and down odd
    REQUIRE((forth.links[i] ^ 1) == back.links[back.links.size() - 1 - i]);
  }
  REQUIRE(forth.latency.value() == Approx(back.latency.value()));
}

RunSpec random_run(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  ClusterSpec cluster = test::dgx_h100_like();
  cluster.node.gpus = pick(1, 9);
  cluster.node.nics = cluster.node.gpus;
  cluster.node.gpus_used = pick(1, static_cast<int>(cluster.node.gpus));
  cluster.fabric.nodes_per_leaf = pick(1, 8);
  const double over[] = {0.5, 1.0, 2.0, 7.0};
  cluster.fabric.tiers = {{64, over[pick(0, 3)]}, {pick(2, 32), over[pick(0, 3)]}, {64, 1.0}};
  cluster.fabric.pxn = pick(0, 1) == 1;
  if (pick(0, 2) == 0) {
    cluster.node.pcie = LinkSpec{BytesPerSecond{64e9}, 0.8, Seconds{1e-7}};
  }
  return test::run_on(cluster, pick(1, 400));
}

// By the rules of the drawing: two tiers join radix / rails groups, else pods of the spine's
// down ports over the rails.
int groups_per_pod(const RunSpec& run) {
  const FabricSpec& fabric = run.cluster.fabric;
  const auto rails = static_cast<int>(run.cluster.node.gpus);
  const auto groups =
      static_cast<int>((run.nodes + fabric.nodes_per_leaf - 1) / fabric.nodes_per_leaf);
  const auto radix = static_cast<int>(fabric.tiers[1].radix);
  if (groups == 1 || groups * rails <= radix) {
    return groups;
  }
  const double o = fabric.tiers[1].oversubscription;
  return std::max(1, static_cast<int>(radix * o / (1 + o)) / rails);
}

}  // namespace

TEST_CASE("fabric property: routes are walks, their mirrors too, and names are unique") {
  std::mt19937 random(20240611);
  for (int world = 0; world < 150; ++world) {
    const RunSpec run = random_run(random);
    const Fabric fabric = make_fabric(run);
    CAPTURE(world, run.nodes, run.cluster.node.gpus, run.cluster.fabric.nodes_per_leaf);
    check_fabric(fabric);
    const Drawing drawing{static_cast<int>(run.cluster.node.gpus),
                          static_cast<int>(run.cluster.fabric.nodes_per_leaf), groups_per_pod(run),
                          run.cluster.node.pcie.has_value()};
    std::set<std::string> names;
    for (LinkId link = 0; link < count(fabric.links); ++link) {
      REQUIRE(names.insert(link_name(fabric, link)).second);
      const Ends ends = drawing.ends(link_name(fabric, link));
      const Ends turned = drawing.ends(link_name(fabric, link ^ 1));
      REQUIRE((ends.from == turned.to && ends.to == turned.from));
    }
    const auto gpus = count(fabric.gpu_speed);
    std::uniform_int_distribution<GpuId> pick(0, gpus - 1);
    for (int pair = 0; pair < 60; ++pair) {
      const GpuId from = pick(random);
      const GpuId to = pick(random);
      if (from != to) {
        check_walk(fabric, drawing, from, to);
        check_mirror(fabric, from, to);
      }
    }
  }
}

TEST_CASE("fabric property: a link that never binds carries less than it could at full load") {
  // every NIC sends (receives) at full rate, all through the link if its leaf or pod may
  std::mt19937 random(7);
  for (int world = 0; world < 100; ++world) {
    const RunSpec run = random_run(random);
    const Fabric fabric = make_fabric(run);
    const Drawing drawing{static_cast<int>(run.cluster.node.gpus),
                          static_cast<int>(run.cluster.fabric.nodes_per_leaf), groups_per_pod(run),
                          run.cluster.node.pcie.has_value()};
    std::map<Place, double> load;  // of NICs below a leaf or pod
    for (LinkId link = 0; link < count(fabric.links); ++link) {
      const Ends ends = drawing.ends(link_name(fabric, link));
      if (std::get<0>(ends.to) == "leaf" && std::get<0>(ends.from) != "spine") {
        load[ends.to] += at(fabric.links, link).capacity.value();
        load[drawing.ends_upwards("leaf" + std::to_string(std::get<1>(ends.to))).to] +=
            at(fabric.links, link).capacity.value();
      }
    }
    const double o0 = run.cluster.fabric.tiers[0].oversubscription;
    for (LinkId link = 0; link < count(fabric.links); ++link) {
      const FabricLink& row = at(fabric.links, link);
      const Ends ends = drawing.ends(link_name(fabric, link));
      if (!row.can_bind) {
        const bool up = link_name(fabric, link).ends_with(".up");
        const double below = load.at(up ? ends.from : ends.to);
        const bool pod = std::get<0>(ends.from) == "core" || std::get<0>(ends.to) == "core";
        // a pod's load is cut by the leaves' own oversubscription
        CHECK(row.capacity.value() * (1 + 1e-9) >= (pod ? below / std::max(1.0, o0) : below));
      }
    }
  }
}

}  // namespace shardsim
