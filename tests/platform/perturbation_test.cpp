// Slow GPUs, nodes, links and rails on a built fabric.
#include <string>

#include "platform/fabric.h"
#include "support/catch.h"
#include "support/clusters.h"

namespace shardsim {

namespace {

using Kind = Perturbation::Kind;

RunSpec perturbed(std::vector<Perturbation> entries) {
  RunSpec run = test::run_on(test::dgx_h100_like(), 64 * 8);  // two leaf groups
  run.perturbations = std::move(entries);
  return run;
}

std::string first_problem(const RunSpec& run) {
  try {
    (void)make_fabric(run);
  } catch (const ConfigError& error) {
    return to_text(error.problems().front());
  }
  return "none";
}

std::string link_problem(const std::string& name) {
  return first_problem(perturbed({{Kind::link, 0, name, 0.5, false, 0}}));
}

double capacity(const Fabric& fabric, const std::string& name) {
  const std::vector<LinkId> links = find_links(fabric, name);
  REQUIRE(links.size() == 1);
  return at(fabric.links, links.front()).capacity.value();
}

}  // namespace

TEST_CASE("perturbation: an unknown link is refused with the nearest name") {
  CHECK(link_problem("node3.nic12.tx") ==
        "test.json:/perturbations/0/link: no link is named \"node3.nic12.tx\"; did you mean "
        "node3.nic1.tx?");
  CHECK(link_problem("leaf40.up").find("did you mean leaf0.up?") != std::string::npos);
  CHECK(link_problem("node64.nic2").find("did you mean node63.nic2?") != std::string::npos);
  CHECK(link_problem("the cable").find("links are named like node0.gpu0.nvlink.tx") !=
        std::string::npos);
}

TEST_CASE("perturbation: rails that the fabric does not have are refused") {
  RunSpec run = perturbed({{Kind::rail, 8, "", 0.5, false, 0}});
  CHECK(first_problem(run) ==
        "test.json:/perturbations/0/rail: the rail_optimised fabric has 8 rails, no rail 8; use 0 "
        "to 7");
  run.cluster.fabric.family = "fat_tree";
  run.cluster.fabric.nodes_per_leaf = 4;
  CHECK(first_problem(run) ==
        "test.json:/perturbations/0/rail: the fat_tree fabric has no rails, no rail 8; name a link "
        "instead");
}

TEST_CASE("perturbation: all problems are reported together") {
  try {
    (void)make_fabric(perturbed(
        {{Kind::rail, 9999, "", 0.5, false, 0}, {Kind::link, 0, "leaf99", 0.5, false, 0}}));
    FAIL("no error");
  } catch (const ConfigError& error) {
    REQUIRE(error.problems().size() == 2);
    CHECK(error.problems()[1].pointer == "/perturbations/1/link");
  }
}

TEST_CASE("perturbation: GPU and node speeds multiply") {
  // node 2 holds slots 16 to 23
  const Fabric fabric = make_fabric(
      perturbed({{Kind::gpu, 17, "", 0.8, false, 0}, {Kind::node, 2, "", 0.5, false, 0}}));
  CHECK(fabric.gpu_speed[15] == 1.0);
  CHECK(fabric.gpu_speed[16] == 0.5);
  CHECK(fabric.gpu_speed[17] == Approx(0.4));
  CHECK(fabric.gpu_speed[24] == 1.0);
}

TEST_CASE("perturbation: a link at a fraction, in one or both directions") {
  const Fabric fabric =
      make_fabric(perturbed({{Kind::link, 0, "node3.nic2", 0.5, false, 0},
                             {Kind::link, 0, "node4.gpu1.nvlink.tx", 0.25, false, 0}}));
  CHECK(capacity(fabric, "node3.nic2.tx") == Approx(23.5e9));
  CHECK(capacity(fabric, "node3.nic2.rx") == Approx(23.5e9));
  CHECK(capacity(fabric, "node3.nic1.tx") == Approx(47e9));
  CHECK(capacity(fabric, "node4.gpu1.nvlink.tx") == Approx(369e9 / 4));
  CHECK(capacity(fabric, "node4.gpu1.nvlink.rx") == Approx(369e9));
}

TEST_CASE("perturbation: a slow bundle can bind, slow NICs below a bundle cannot make it") {
  const Fabric slow_leaf = make_fabric(perturbed({{Kind::link, 0, "leaf9.up", 0.5, false, 0}}));
  CHECK(at(slow_leaf.links, find_links(slow_leaf, "leaf9.up").front()).can_bind);
  CHECK_FALSE(at(slow_leaf.links, find_links(slow_leaf, "leaf9.down").front()).can_bind);
  const Fabric slow_nic = make_fabric(perturbed({{Kind::link, 0, "node40.nic1", 0.5, false, 0}}));
  CHECK_FALSE(at(slow_nic.links, find_links(slow_nic, "leaf9.up").front()).can_bind);
}

TEST_CASE("perturbation: a slow rail slows its NICs and leaves, no other") {
  const Fabric fabric = make_fabric(perturbed({{Kind::rail, 2, "", 0.5, false, 0}}));
  int slow = 0;
  const Fabric healthy = make_fabric(perturbed({}));
  for (LinkId link = 0; link < count(fabric.links); ++link) {
    slow += at(fabric.links, link).capacity < at(healthy.links, link).capacity ? 1 : 0;
  }
  // 64 nodes x tx, rx; 2 groups x up, down
  CHECK(slow == 64 * 2 + 2 * 2);
  CHECK(capacity(fabric, "node63.nic2.rx") == Approx(23.5e9));
  CHECK(capacity(fabric, "leaf10.up") == Approx(16 * 47e9));
  CHECK_FALSE(at(fabric.links, find_links(fabric, "leaf10.up").front()).can_bind);
}

TEST_CASE("perturbation: jitter leaves the fabric as it is") {
  Perturbation jitter;
  jitter.kind = Kind::jitter;
  jitter.factor = 0.02;
  const Fabric fabric = make_fabric(perturbed({jitter}));
  CHECK(capacity(fabric, "node0.nic0.tx") == Approx(47e9));
}

}  // namespace shardsim
