// What the formats can say and this version does not do is refused by name.
#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

std::string refusal(const Overrides& overrides) {
  return text_errors(R"({"model": "llama-mini", "cluster": "pod", "gpus": 8,
                        "batch": {"sequence": 4096, "global": 8}})",
                     overrides);
}

}  // namespace

TEST_CASE("unsupported: features of runs") {
  CHECK(refusal({"training.overlap.tp=true"}) ==
        "--set:/training/overlap/tp: true: TP collectives in chunks beside matrix products is not "
        "available in this version; use false");
  CHECK(refusal({"training.recompute=selective", "training.recompute_modules=[\"mlp\"]"}) ==
        "--set:/training/recompute_modules: [\"mlp\"]: selective recompute of other modules than "
        "core_attn is not available in this version; use [\"core_attn\"]");
  CHECK(refusal({"collectives.all_reduce={\"protocol\": \"ll\", \"channels\": 4}"}) ==
        "--set:/collectives/all_reduce/protocol: \"ll\": a choice of protocol is not available "
        "in this version; use \"auto\"\n"
        "--set:/collectives/all_reduce/channels: 4: a choice of channels is not available in this "
        "version; leave it out");
  CHECK(refusal({"perturbations=[{\"link\": \"node0.nic2\", \"dead\": true}]"}) ==
        "--set:/perturbations/0/dead: true: a dead link is not available in this version; use a "
        "\"bandwidth\" above 0");
  CHECK(refusal({"perturbations=[{\"jitter\": 0.02, \"seed\": 1}]"}) ==
        "--set:/perturbations/0/jitter: 0.02: jitter is not available in this version; leave "
        "the entry out");
  CHECK(refusal({"plan.tokens=15 T"}) ==
        "--set:/plan/tokens: \"15 T\": a plan of the whole training is not available in this "
        "version; leave it out");
}

TEST_CASE("unsupported: no advice that is then refused, one advice for one thing") {
  CHECK(refusal({"collectives.all_reduce.protocol=ll128"}).find("use \"auto\"") !=
        std::string::npos);
  CHECK(refusal({"collectives.all_reduce.protocol=simple"}) ==
        "--set:/collectives/all_reduce/protocol: \"simple\": a choice of protocol is not available "
        "in this version; use \"auto\"");
  CHECK(refusal({R"(perturbations=[{"spine": 1, "dead": true}])"}) ==
        "--set:/perturbations/0/spine: 1: a slow or dead spine is not available in this version; "
        "leave the entry out");
}

TEST_CASE("unsupported: the stack's training keys count too, unless the run overrides them") {
  CHECK(refusal({"stack.training.overlap.tp=true"}) ==
        "--set:/stack/training/overlap/tp: true: TP collectives in chunks beside matrix products "
        "is not available in this version; use false");
  CHECK(refusal({"stack.training.overlap.tp=true", "training.overlap.tp=false"}).empty());
}

TEST_CASE("unsupported: features of models, clusters and GPUs") {
  CHECK(refusal({"cluster.node.nvlink.kind=mesh"}) ==
        "--set:/cluster/node/nvlink/kind: \"mesh\": this way to join the GPUs of a node is not "
        "available in this version; use \"switch\"");
  CHECK(refusal({"cluster.gpu.efficiency.gemm.table=[]"}) ==
        "--set:/cluster/gpu/efficiency/gemm/table: []: a table of measured efficiencies is not "
        "available in this version; use the fitted model");
  CHECK(errors_of([] { return read_cluster("pod", {"fabric.spreading=hash"}); }) ==
        "--set:/fabric/spreading: \"hash\": hash spreading is not available in this version; use "
        "\"ideal\"");
}
