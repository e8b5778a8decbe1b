// What is legal but probably not meant: warned of, never refused.
#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

using Warnings = std::vector<std::string>;

Warnings warnings(const Overrides& overrides) {
  return read_text(R"({"model": "llama-mini", "cluster": "pod", "gpus": 8,
                       "batch": {"sequence": 4096, "global": 8}})",
                   overrides)
      .warnings;
}

}  // namespace

TEST_CASE("warnings: ZeRO without a copy to share with went unsaid") {
  CHECK(warnings({"parallel.tp=8", "parallel.zero=1"}) ==
        Warnings{"parallel.zero 1 has no effect with dp 1 and cp 1: no rank has a copy to share "
                 "the state with"});
  CHECK(warnings({"parallel.tp=4", "parallel.zero=1"}).empty());
  CHECK(warnings({"parallel.tp=4", "parallel.cp=2", "parallel.zero=1"}).empty());
  CHECK(warnings({"parallel.tp=8", "parallel.zero=0"}).empty());
  // The experts of eight tp ranks are copies of each other without etp.
  const std::string moe = R"(model.moe={"experts": 8, "top_k": 2, "expert_ffn": 1024})";
  CHECK(warnings({moe, "parallel.tp=8", "parallel.sp=true", "parallel.zero=1"}).empty());
  CHECK(warnings({moe, "parallel.tp=8", "parallel.sp=true", "parallel.ep=8", "parallel.zero=1"})
            .size() == 1);
}

TEST_CASE("warnings: recompute settings that the kind of recompute does not read went unsaid") {
  CHECK(warnings({"training.recompute_layers=2", "training.recompute_method=block",
                  "training.recompute_modules=[\"core_attn\"]"}) ==
        Warnings{"training.recompute_modules has no effect without recompute \"selective\"",
                 "training.recompute_method has no effect without recompute \"full\"",
                 "training.recompute_layers has no effect without recompute \"full\""});
  CHECK(warnings({"training.recompute=selective", "training.recompute_layers=2"}) ==
        Warnings{"training.recompute_layers has no effect without recompute \"full\""});
  CHECK(warnings({"training.recompute=full", "training.recompute_layers=2",
                  "training.recompute_method=block"})
            .empty());
  // A stack may state what a job without recompute does not read.
  CHECK(warnings({"stack.training.recompute_layers=2"}).empty());
}

TEST_CASE("warnings: a wider format with the higher peak went unsaid") {
  CHECK(warnings({"cluster.gpu.peak={\"bf16\": \"1979 TFLOP/s\", \"fp8\": \"989 TFLOP/s\"}"}) ==
        Warnings{"chip: its bf16 peak of 1979.0 TFLOP/s is above its fp8 peak of 989.0 TFLOP/s"});
  CHECK(warnings({"cluster.gpu.peak={\"bf16\": \"300 TFLOP/s\", \"fp16\": \"300 TFLOP/s\", "
                  "\"fp32\": \"400 TFLOP/s\", \"fp8\": \"600 TFLOP/s\"}"})
            .size() == 2);
  CHECK(warnings({"cluster.gpu.peak={\"bf16\": \"300 TFLOP/s\", \"fp16\": \"300 TFLOP/s\", "
                  "\"fp32\": \"300 TFLOP/s\", \"mxfp8\": \"600 TFLOP/s\", \"fp8\": \"600 "
                  "TFLOP/s\", \"nvfp4\": \"900 TFLOP/s\"}"})
            .empty());
}

TEST_CASE("read errors: values that were taken although they mean nothing") {
  const auto errors = [](const std::string& setting) { return base_errors({setting}); };
  CHECK(errors("$schema=7") ==
        "--set:/$schema: 7 is no address of a schema; write a string, or leave it out");
  CHECK(errors("model.$schema=[]") ==
        "--set:/model/$schema: [] is no address of a schema; write a string, or leave it out");
  CHECK(errors("$schema=run.schema.json").empty());
  CHECK(errors("model.name=\"\"") ==
        "--set:/model/name: is empty; write a string that is not empty");
  CHECK(errors("cluster.gpu.source=\" \"") ==
        "--set:/cluster/gpu/source: is blank; write a string that is not empty");
  CHECK(errors("model.dropout=1") ==
        "--set:/model/dropout: 1 is out of range; use a number from 0 and below 1");
  CHECK(errors("model.dropout=-0.1") ==
        "--set:/model/dropout: -0.1 is out of range; use a number from 0 and below 1");
  CHECK(errors("model.dropout=0.999").empty());
  CHECK(errors("stack.elementwise_factor=0.9") ==
        "--set:/stack/elementwise_factor: 0.9 is out of range; use a number from 1 to 100");
  CHECK(errors("stack.elementwise_factor=1").empty());
}

TEST_CASE("read errors: one of a thing is not several, several are not one") {
  CHECK(base_errors({"gpus=1", "perturbations=[]", "parallel.tp=1", "parallel.sp=false"}) ==
        "--set:/gpus: 1 GPU is fewer than tp 1 x cp 1 x pp 4 = 4; use more GPUs, or smaller tp, "
        "cp or pp");
  CHECK(base_errors({"perturbations=[{\"gpu\": 64, \"speed\": 0.5}]"}) ==
        "--set:/perturbations/0/gpu: 64 is outside the 64 GPU slots of the job; use 0 to 63");
  CHECK(base_errors({"perturbations=[]", "perturbations.1.gpu=1"})
            .find("\"1\" is no place in a list of 0 entries; use 0, which appends") !=
        std::string::npos);
  CHECK(base_errors({"model.layers=null"}) ==
        "--set:/model/layers: is null; write an integer from 1 to 10,000");
}
