// Perturbations that touch nothing the job uses.
#include "lowering/idle_perturbations.h"

#include "lowering/hand_lowering.h"
#include "support/catch.h"

namespace shardsim {
namespace {

// A TP group of two GPUs of node 0: NVLink of GPUs 0 and 1, no NIC.
TEST_CASE("perturbations: one without effect went unsaid") {
  RunSpec run = round_run(2, 1, 1);
  using Kind = Perturbation::Kind;
  const auto halve = [&run](Kind kind, std::int64_t index, const std::string& link) {
    run.perturbations.emplace_back();
    run.perturbations.back().kind = kind;
    run.perturbations.back().index = index;
    run.perturbations.back().link = link;
    run.perturbations.back().factor = 0.5;
  };
  halve(Kind::gpu, 0, "");
  halve(Kind::gpu, 5, "");
  halve(Kind::node, 0, "");
  halve(Kind::link, 0, "node0.gpu1.nvlink");
  halve(Kind::link, 0, "node0.nic2");
  halve(Kind::rail, 1, "");
  const Job job = lower_collective(run, Primitive::all_reduce, kMiB);
  const std::vector<std::string> expected{
      "perturbation of GPU 5 has no effect: it holds no rank",
      "perturbation of link node0.nic2 has no effect: no traffic crosses it",
      "perturbation of rail 1 has no effect: no traffic crosses it"};
  CHECK(idle_perturbations(run, job.fabric, make_node_map(run), job.lowered) == expected);
}

}  // namespace
}  // namespace shardsim
