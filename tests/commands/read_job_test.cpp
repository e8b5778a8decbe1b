// What the reader and the layers above it find wrong in a run: all at once, each where it stands.
#include "commands/read_job.h"

#include "lowering/algorithms/algorithm.h"
#include "spec/known_names.h"
#include "spec/spec_fixture.h"
#include "support/catch.h"
#include "workload/schedule.h"

using namespace shardsim;

namespace {

std::string job_errors(const Overrides& overrides) {
  use_test_data();
  return errors_of([&] { return read_job(data_path() + "/run.json", overrides); });
}

std::string text_job_errors(const std::string& text, const Overrides& overrides = {}) {
  use_test_data();
  return errors_of([&] { return read_job_text(text, "run.json", overrides); });
}

}  // namespace

TEST_CASE("read job: problems of the fabric name the file or the override that holds the value") {
  CHECK(job_errors({}).empty());
  CHECK(job_errors({"cluster.node.nics.count=9"}) ==
        "--set:/cluster/node/nics/count: 9 NICs for 8 GPUs: each GPU uses one NIC; use 1 to 8, "
        "several NICs of a GPU as one of their summed bandwidth");
  // The cluster's own nodes_per_leaf, which the run's radix does not allow.
  CHECK(job_errors({"cluster.fabric.tiers.0.radix=16"}) ==
        "topologies/pod.json:/fabric/nodes_per_leaf: 16 nodes and 16 uplinks on a leaf switch of "
        "16 ports; use at most 8, more ports or more oversubscription");
  // Two tiers join 64 / 8 = 8 groups of 16 nodes.
  CHECK(job_errors({"gpus=2048", "batch.global=512"}) ==
        "topologies/pod.json:/fabric/tiers: two tiers of 64-port spines join 128 nodes, the run "
        "occupies 256; add a third tier, or use fewer GPUs");
  CHECK(job_errors({"cluster.fabric.tiers=[]"}) ==
        "--set:/cluster/fabric/tiers: a rail_optimised fabric of 0 tiers of switches; use 1, 2 or "
        "3");
  CHECK(job_errors({"cluster.fabric.family=single_switch"}) ==
        "--set:/cluster/fabric/family: \"single_switch\": this fabric family is not available in "
        "this version; use \"rail_optimised\", \"fat_tree\" or \"single_node\"");
  CHECK(job_errors({"cluster=box", "perturbations=[]"}) ==
        "run.json:/gpus: 64 GPUs need 16 nodes, a single_node cluster has one of 4; use at most 4, "
        "or a cluster with a fabric");
  CHECK(job_errors({"cluster.node.nics.count=0", "perturbations=[]"}) ==
        "topologies/pod.json:/node/nics: a rail_optimised fabric joins the NICs of its nodes, "
        "these have none; state nics, or use family \"single_node\" and at most 8 GPUs");
}

TEST_CASE("read job: links and rails are those of the fabric, in the run file or an override") {
  const auto one = [](const std::string& item) {
    return job_errors({"perturbations=[" + item + "]"});
  };
  CHECK(one(R"({"link": "node7.gpu7.nvlink.rx", "bandwidth": 0.5})").empty());
  CHECK(one(R"({"link": "leaf4.up", "bandwidth": 0.5})").empty());
  CHECK(one(R"({"rail": 8, "bandwidth": 0.5})") ==
        "--set:/perturbations/0/rail: the rail_optimised fabric has 8 rails, no rail 8; use 0 to "
        "7");
  CHECK(one(R"({"link": "node8.nic0.tx", "bandwidth": 0.5})") ==
        "--set:/perturbations/0/link: no link is named \"node8.nic0.tx\"; did you mean "
        "node7.nic0.tx?");
  CHECK(one(R"({"link": "leaf40.up", "bandwidth": 0.5})") ==
        "--set:/perturbations/0/link: no link is named \"leaf40.up\"; did you mean leaf0.up?");
  CHECK(one(R"({"link": "the cable", "bandwidth": 0.5})") ==
        "--set:/perturbations/0/link: no link is named \"the cable\"; links are named like "
        "node0.gpu0.nvlink.tx, with or without the direction");
  CHECK(job_errors({"gpus=16", "parallel.pp=4", "batch.global=16"}) ==
        "run.json:/perturbations/0/gpu: 17 is outside the 16 GPU slots of the job; use 0 to 15\n"
        "run.json:/perturbations/1/link: no link is named \"node3.nic2\"; did you mean "
        "node1.nic2?");
}

TEST_CASE("read job: choices of algorithms are those of the table") {
  CHECK(job_errors({"collectives.all_reduce.algorithm=ring",
                    "collectives.all_gather.algorithm=hierarchical",
                    "collectives.all_to_all.algorithm=pairwise"})
            .empty());
  CHECK(job_errors({"collectives.all_reduce.algorithm=tree"}) ==
        "--set:/collectives/all_reduce/algorithm: \"tree\" is no algorithm for all_reduce in this "
        "version; use \"auto\", \"ring\" or \"hierarchical\"");
  CHECK(job_errors({"collectives.all_to_all.algorithm=ring"}) ==
        "--set:/collectives/all_to_all/algorithm: \"ring\" is no algorithm for all_to_all in this "
        "version; use \"auto\" or \"pairwise\"");
  for (const std::string key : {"send_recv", "broadcast", "reduce"}) {
    CHECK(job_errors({"collectives." + key + ".algorithm=ring"}) ==
          "--set:/collectives/" + key + "/algorithm: \"ring\" is no algorithm for " + key +
              " in this version; use \"auto\"");
  }
}

TEST_CASE("read job: what a schedule cannot run names the schedule, once") {
  CHECK(job_errors({"training.schedule=dualpipe", "parallel.vpp=1", "batch.global=16"}) ==
        "--set:/training/schedule: dualpipe: 4 micro batches do not fill 4 stages from both ends; "
        "use 8 or more");
  // The reader's own word on a schedule is the only one.
  CHECK(job_errors({"training.schedule=dualpipe", "batch.global=16"}) ==
        "--set:/training/schedule: dualpipe has one chunk per stage, vpp is 2; use "
        "\"interleaved\", or vpp 1");
  CHECK(job_errors({"batch.global=40"}) ==
        "--set:/batch/global: 10 micro batches (global 40 / (micro 1 x dp 4)), the interleaved "
        "schedule needs a multiple of pp 4; use global 32 or 48, or vpp 1");
}

TEST_CASE("read job: every problem of every layer at once, each in its file") {
  const std::string text = R"({
    "model": "llama-mini", "cluster": "pod", "gpus": 64,
    "parallel": { "tp": 4, "pp": 4 },
    "batch": { "micro": 0, "global": 64, "sequence": 4096 },
    "training": { "precision": "bf61" },
    "collectives": { "all_reduce": { "algorithm": "nvls", "protocol": "ll" } },
    "perturbations": [{ "link": "node3.nic12", "bandwidth": 0.5 }, { "gpu": 99, "speed": 0.5 }] })";
  const std::string both =
      "run.json:/batch/micro: 0 is out of range; use an integer from 1 to 10,000,000\n"
      "run.json:/training/precision: \"bf61\" is not known; did you mean \"bf16\"? use \"fp32\", "
      "\"fp16\", \"bf16\", \"fp8\", \"mxfp8\" or \"nvfp4\"\n";
  const std::string last =
      "run.json:/collectives/all_reduce/algorithm: \"nvls\" is no algorithm for all_reduce in this "
      "version; use \"auto\", \"ring\" or \"hierarchical\"";
  CHECK(
      text_job_errors(text, {"model.kv_heads=5"}) ==
      both +
          "--set:/model/kv_heads: 5 does not divide heads 32; use 1, 2, 4, 8, 16 or 32\n"
          "run.json:/parallel/tp: of 4 and kv_heads 5 neither divides the other; use 1\n" +
          "run.json:/perturbations/1/gpu: 99 is outside the 64 GPU slots of the job; use 0 to 63\n"
          "run.json:/collectives/all_reduce/protocol: \"ll\": a choice of protocol is not "
          "available in this version; use \"auto\"\n"
          "run.json:/perturbations/0/link: no link is named \"node3.nic12\"; did you mean "
          "node3.nic1?\n" +
          last);
  // Without NICs for every GPU there is no fabric to look for the link in.
  CHECK(text_job_errors(text, {"cluster.node.nics.count=9", "perturbations.1.gpu=9"}) ==
        both +
            "run.json:/collectives/all_reduce/protocol: \"ll\": a choice of protocol is not "
            "available in this version; use \"auto\"\n"
            "--set:/cluster/node/nics/count: 9 NICs for 8 GPUs: each GPU uses one NIC; use 1 to 8, "
            "several NICs of a GPU as one of their summed bandwidth\n" +
            last);
}

// Names that files may use and no table knows would be faults of this program.
TEST_CASE("read job: every schedule that a run file can name is implemented") {
  for (const KnownName& known : known_schedules()) {
    CHECK(find_schedule(known.name).name == known.name);
  }
}
