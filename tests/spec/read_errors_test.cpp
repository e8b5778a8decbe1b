// Wrong values of single keys: the exact text.
#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

TEST_CASE("read errors: numbers out of range, of the wrong kind, absurd") {
  CHECK(base_errors({"gpus=0"}) ==
        "--set:/gpus: 0 is out of range; use an integer from 1 to 2,097,152");
  CHECK(base_errors({"batch.micro=-1"}) ==
        "--set:/batch/micro: -1 is out of range; use an integer from 1 to 10,000,000");
  CHECK(base_errors({"model.hidden=1000000000000000019884624838656"}) ==
        "--set:/model/hidden: 1000000000000000019884624838656 is out of range; use an integer from "
        "1 to 1,000,000");
  CHECK(base_errors({"model.layers=2e4"}) ==
        "--set:/model/layers: 2e4 is out of range; use an integer from 1 to 10,000");
  CHECK(base_errors({"batch.micro=1.5"}) ==
        "--set:/batch/micro: 1.5 is not a whole number; use an integer from 1 to 10,000,000");
  CHECK(base_errors({"batch.sequence=\"4096\""}) ==
        "--set:/batch/sequence: \"4096\" is a string; write an integer from 1 to 100,000,000, "
        "without quotes");
  CHECK(base_errors({"batch.sequence=NaN"}) ==
        "--set:/batch/sequence: \"NaN\" is a string; write an integer from 1 to 100,000,000, "
        "without quotes");
  CHECK(base_errors({"parallel.sp=1"}) == "--set:/parallel/sp: 1 is a number; write true or false");
  CHECK(base_errors({"parallel=3"}) == "--set:/parallel: 3 is a number; write an object { ... }");
  CHECK(base_errors({"model.heads=null"}) ==
        "--set:/model/heads: is null; write an integer from 1 to 100,000");
  CHECK(base_errors({"training.overlap_slowdown=11"}) ==
        "--set:/training/overlap_slowdown: 11 is out of range; use a number from 0 to 10");
  CHECK(base_errors({"parallel.layers_per_stage=[8,8,\"8\",8]"}) ==
        "--set:/parallel/layers_per_stage/2: \"8\" is a string; write an integer from 0 to 10,000, "
        "without quotes");
}

TEST_CASE("read errors: quantities") {
  CHECK(base_errors({"cluster.node.nics.bandwidth_per_direction=400"}) ==
        "--set:/cluster/node/nics/bandwidth_per_direction: 400 is a bare number; write a bandwidth "
        "with its unit, such as \"400 Gb/s\" (b is bit, B is byte)");
  CHECK(base_errors({"cluster.gpu.memory_capacity=80 GB/s"}) ==
        "--set:/cluster/gpu/memory_capacity: \"80 GB/s\" is a bandwidth, not an amount of bytes; "
        "write an amount of bytes with its unit, such as \"80 GiB\" (k M G T: 1000, Ki Mi Gi Ti: "
        "1024)");
  CHECK(base_errors({"cluster.gpu.memory_bandwidth=0 TB/s"}) ==
        "--set:/cluster/gpu/memory_bandwidth: \"0 TB/s\" is out of range; use a value from 1 B/s "
        "to 10 PB/s");
  CHECK(base_errors({"training.memory_reserve=-2 GiB"}) ==
        "--set:/training/memory_reserve: \"-2 GiB\" is out of range; use a value from 0 B to 1 PB");
  CHECK(base_errors({"training.grad_bucket=0.5 B"}) ==
        "--set:/training/grad_bucket: \"0.5 B\" is no whole number of bytes; use a whole number");
}

TEST_CASE("read errors: names") {
  CHECK(base_errors({"model=llama-mina"}) ==
        "--set:/model: no model is named \"llama-mina\"; did you mean \"llama-mini\"? known names: "
        "gpt-mini, llama-mini; a path ends in .json");
  CHECK(base_errors({"cluster.gpu=h100"}) ==
        "--set:/cluster/gpu: no gpu is named \"h100\"; known names: chip; a path ends in .json");
  CHECK(base_errors({"model=./no.json"}) ==
        "--set:/model: ./no.json cannot be read: No such file or directory; name a JSON file that "
        "exists");
  CHECK(base_errors({"training.precision=bf61"}) ==
        "--set:/training/precision: \"bf61\" is not known; did you mean \"bf16\"? use \"fp32\", "
        "\"fp16\", \"bf16\", \"fp8\", \"mxfp8\" or \"nvfp4\"");
  CHECK(base_errors({"parallel.order=tp-dp-pp"}) ==
        "--set:/parallel/order: \"tp-dp-pp\" is no order of the five axes; use each of tp, cp, ep, "
        "dp and pp once, fastest first, such as \"tp-cp-ep-dp-pp\"");
  CHECK(errors_of([] { return read_run("nowhere.json"); }) ==
        "nowhere.json: cannot be read: No such file or directory; name a JSON file that exists");
  CHECK(errors_of([] { return read_cluster("pot"); }) ==
        "cluster: no cluster is named \"pot\"; did you mean \"pod\"? known names: box, pod; a path "
        "ends in .json");
}

TEST_CASE("read errors: unknown keys, with the nearest, the foreign and the misplaced name") {
  CHECK(base_errors({"parallel.tpp=1"}) ==
        "--set:/parallel/tpp: unknown key \"tpp\"; did you mean \"tp\"?");
  CHECK(base_errors({"parallel.sequence_parallel=true"}) ==
        "--set:/parallel/sequence_parallel: unknown key \"sequence_parallel\"; did you mean "
        "\"sp\"?");
  CHECK(base_errors({"tp=8"}) == "--set:/tp: unknown key \"tp\"; did you mean \"parallel.tp\"?");
  CHECK(base_errors({"batch.zzzzzzzz=8"}) ==
        "--set:/batch/zzzzzzzz: unknown key \"zzzzzzzz\"; known keys: micro, global, "
        "micro_batches, sequence");
  CHECK(base_errors({"perturbations.0.sped=0.5"}) ==
        "--set:/perturbations/0/sped: unknown key \"sped\"; did you mean \"speed\"?");
}

TEST_CASE("read errors: overrides that go nowhere") {
  CHECK(base_errors({"parallel.tp"}) ==
        "--set: \"parallel.tp\" is no override; write key.path=value, such as parallel.tp=8");
  CHECK(base_errors({"parallel..tp=1"}) ==
        "--set: \"parallel..tp=1\" is no override; write key.path=value, such as parallel.tp=8");
  CHECK(base_errors({"parallel.tp.x=1"}) ==
        "--set:/parallel/tp: 4 is a number, it has no \"x\"; override the whole value, or correct "
        "the key");
  CHECK(base_errors({"perturbations.7.speed=1"}) ==
        "--set:/perturbations/7: \"7\" is no place in a list of 2 entries; use 0 to 2; 2 appends");
  // The pointer is that of the key that was written, not of the place in the cluster's file.
  CHECK(base_errors({"cluster.fabric.tiers.9.radix=64"})
            .find("--set:/cluster/fabric/tiers/9: \"9\" is no place") == 0);
  CHECK(base_errors({"cluster.node.gpus.x=1"}).find("--set:/cluster/node/gpus: 8 is") == 0);
  CHECK(base_errors({"training={\"precision\": \"bf16\", \"precision\": \"fp16\"}"}) ==
        "--set:/training/precision: duplicate key \"precision\" on line 1 (first on line 1); keep "
        "one of them");
}

TEST_CASE("read errors: what is missing") {
  CHECK(text_errors("{}") ==
        "run.json:/model: is missing; write the name of a model, the path of a model file, or an "
        "object: what is trained\n"
        "run.json:/cluster: is missing; write the name of a cluster, the path of a cluster file, "
        "or an object: what it is trained on");
  CHECK(text_errors(R"({"model": "llama-mini", "cluster": "pod"})") ==
        "run.json:/gpus: is missing; write the number of GPUs, or \"nodes\" instead");
  CHECK(base_errors({"cluster.gpu.efficiency.memory={\"bandwidth_fraction\": 0.5}"}) ==
        "--set:/cluster/gpu/efficiency/memory/source: is missing; write a string: where the "
        "figures come from");
  CHECK(text_errors("[]") == "run.json: holds a list; write an object { ... }");
  CHECK(text_errors("{\"gpus\": 8, \"gpus\": 4") ==
        "run.json:/gpus: duplicate key \"gpus\" on line 1 (first on line 1); keep one of them\n"
        "run.json:1:22: not valid JSON: the JSON ends unfinished; is it cut off? close every { [ "
        "and \"");
}

TEST_CASE("read errors: every problem at once, each in the file that has it") {
  CHECK(base_errors({"parallel.tp=3", "parallel.sp=false", "model.vocab=0", "batch.micro=x"}) ==
        "--set:/batch/micro: \"x\" is a string; write an integer from 1 to 10,000,000, without "
        "quotes\n"
        "--set:/model/vocab: 0 is out of range; use an integer from 1 to 100,000,000\n"
        "run.json:/gpus: 64 GPUs are not a multiple of tp 3 x cp 1 x pp 4 = 12; use 60 or 72\n"
        "--set:/parallel/tp: 3 does not divide heads 32 and ffn 14336; use 1, 2, 4, 8, 16 or 32");
}
