// Rules over several keys: the exact text, with the values that would be right.
#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

// A pipeline of four stages without chunks, nothing else.
std::string pipeline_errors(const Overrides& more) {
  Overrides overrides{"parallel={\"tp\": 1, \"pp\": 4}", "perturbations=[]"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return base_errors(overrides);
}

std::string small_errors(const Overrides& more) {
  return text_errors(R"({"model": "llama-mini", "cluster": "pod", "gpus": 1})", more);
}

}  // namespace

TEST_CASE("validate: 3 does not divide 64 heads") {
  // vllm-project/vllm#52435: heads 64, kv 8, TP 3.
  CHECK(small_errors({"gpus=3", "model.heads=64", "model.ffn=12288", "parallel.tp=3"}) ==
        "--set:/parallel/tp: 3 does not divide heads 64; use 1, 2, 4, 8, 16, 32 or 64");
  // 6 divides the 12 heads, but of 6 and 4 KV heads neither divides the other.
  CHECK(small_errors({"gpus=6", "model.heads=12", "model.kv_heads=4", "model.head_dim=128",
                      "model.ffn=12288", "parallel.tp=6"}) ==
        "--set:/parallel/tp: of 6 and kv_heads 4 neither divides the other; use 1, 2, 4 or 12");
  CHECK(small_errors({"model.kv_heads=5"}) ==
        "--set:/model/kv_heads: 5 does not divide heads 32; use 1, 2, 4, 8, 16 or 32");
  CHECK(
      small_errors({"model.heads=24", "model.kv_heads=24"}) ==
      "--set:/model/heads: heads 24 does not divide hidden 4096; state head_dim, or use heads that "
      "divide hidden");
}

// modelscope/ms-swift#8219: 32 heads, 2 KV heads, TP 8: legal, each rank has one KV head.
TEST_CASE("validate: fewer KV heads than tensor parallel ranks are no error") {
  CHECK(small_errors({"gpus=8", "model.heads=32", "model.kv_heads=2", "parallel.tp=8"}).empty());
}

TEST_CASE("validate: layers that do not divide into stages get a suggestion") {
  // NVIDIA/Megatron-LM#1304: 30 layers over 4 stages silently became 28.
  CHECK(pipeline_errors({"model.layers=30"}) ==
        "--set:/parallel/pp: 30 layers do not divide into pp 4 stages; use pp 1, 2, 3, 5, 6, 10, "
        "15 or 30, or layers_per_stage [7, 8, 8, 7] (embedding and loss counted as layers)");
  CHECK(pipeline_errors({"model.layers=30", "parallel.layers_per_stage=[7,8,8,7]"}).empty());
  CHECK(pipeline_errors({"model.layers=30", "parallel.count_embedding_as_layer=true",
                         "parallel.count_loss_as_layer=true"})
            .empty());
  // modelscope/ms-swift#5737: 46 layers over 4 stages.
  CHECK(pipeline_errors({"model.layers=46"}) ==
        "--set:/parallel/pp: 46 layers do not divide into pp 4 stages; use pp 1, 2, 23 or 46, or "
        "layers_per_stage [11, 12, 12, 11] (embedding and loss counted as layers)");
  CHECK(pipeline_errors({"model.layers=46", "parallel.count_embedding_as_layer=true",
                         "parallel.count_loss_as_layer=true"})
            .empty());
  CHECK(pipeline_errors({"model.layers=33"}) ==
        "--set:/parallel/pp: 33 layers do not divide into pp 4 stages; use pp 1, 3, 11 or 33, or "
        "layers_per_stage [8, 9, 8, 8]");
  CHECK(pipeline_errors({"model.layers=30", "parallel.count_loss_as_layer=true"}) ==
        "--set:/parallel/pp: 30 layers + loss = 31 do not divide into pp 4 stages; use pp 1 or 31, "
        "or layers_per_stage [7, 8, 8, 7] (embedding and loss counted as layers)");
}

TEST_CASE("validate: layers of a stage that do not divide into chunks") {
  // NVIDIA/Megatron-LM#468: 80 layers, 16 stages; 5 layers a stage in chunks of 2 became 64.
  CHECK(pipeline_errors({"model.layers=80", "parallel.pp=16", "parallel.vpp=2"}) ==
        "--set:/parallel/vpp: 80 layers / pp 16 = 5 layers of a stage do not divide into vpp 2 "
        "chunks; use vpp 1 or 5, or layers_per_stage with pp x vpp = 32 entries");
}

TEST_CASE("validate: layers_per_stage") {
  CHECK(pipeline_errors({"parallel.layers_per_stage=[8,8,8]"}) ==
        "--set:/parallel/layers_per_stage: 3 entries for pp 4 x vpp 1; use 4 entries");
  CHECK(pipeline_errors({"parallel.layers_per_stage=[8,8,8,7]"}) ==
        "--set:/parallel/layers_per_stage: the entries sum to 31, the model has 32 layers; add 1 "
        "layer");
  CHECK(pipeline_errors({"parallel.layers_per_stage=[16,0,8,8]"}) ==
        "--set:/parallel/layers_per_stage/1: 0 layers in the middle of the pipeline; use 1 or "
        "more");
  CHECK(pipeline_errors({"parallel.layers_per_stage=[7,9,8,8]", "parallel.vpp=2"}) ==
        "--set:/parallel/layers_per_stage/0: 7 layers do not divide into vpp 2 chunks; use "
        "multiples of 2, or pp x vpp = 8 entries in chunk order\n"
        "--set:/parallel/layers_per_stage/1: 9 layers do not divide into vpp 2 chunks; use "
        "multiples of 2, or pp x vpp = 8 entries in chunk order");
  CHECK(pipeline_errors({"parallel.layers_per_stage=[0,8,12,12]"}).empty());
  CHECK(pipeline_errors(
            {"parallel.layers_per_stage=[8,8,8,8]", "parallel.count_loss_as_layer=true"}) ==
        "--set:/parallel/layers_per_stage: stands beside count_embedding_as_layer, "
        "count_loss_as_layer or layout, which also place the layers; keep one of them");
}

TEST_CASE("validate: a stage without layers leaves a chunk in the middle empty under vpp") {
  // Chunks 0 and 4 of 8 are stage 0's: chunk 4 is in the middle of the model.
  CHECK(pipeline_errors({"parallel.layers_per_stage=[0,10,10,12]", "parallel.vpp=2"}) ==
        "--set:/parallel/layers_per_stage/0: 0 layers leave 2 chunks of the stage empty; use 2 or "
        "more, or pp x vpp = 8 entries in chunk order, of which the first and the last may be 0");
  CHECK(pipeline_errors({"parallel.layers_per_stage=[10,10,12,0]", "parallel.vpp=2"})
            .find("/parallel/layers_per_stage/3: 0 layers leave") != std::string::npos);
  CHECK(pipeline_errors({"parallel.layers_per_stage=[0,5,5,6,5,5,6,0]", "parallel.vpp=2"}).empty());
}

TEST_CASE("validate: the interleaved schedule needs as many micro batches as stages") {
  // NVIDIA-NeMo/Speech#14288: PP6, VPP2, 3 micro batches.
  const Overrides shape{"gpus=6", "model.layers=24", "parallel.pp=6", "parallel.vpp=2"};
  Overrides three = shape;
  three.push_back("batch.global=3");
  CHECK(small_errors(three) ==
        "--set:/batch/global: 3 micro batches (global 3 / (micro 1 x dp 1)), the interleaved "
        "schedule needs at least pp = 6; use global 6, or vpp 1");
  Overrides eight = shape;
  eight.push_back("batch.global=8");
  CHECK(small_errors(eight) ==
        "--set:/batch/global: 8 micro batches (global 8 / (micro 1 x dp 1)), the interleaved "
        "schedule needs a multiple of pp 6; use global 6 or 12, or vpp 1");
  three.push_back("parallel.vpp=1");
  CHECK(small_errors(three).empty());
}

TEST_CASE("validate: schedules and chunks fit each other") {
  CHECK(small_errors({"parallel.vpp=2"}) ==
        "--set:/parallel/vpp: 2 chunks need more than pp 1 stage; use vpp 1, or pp 2 or more");
  CHECK(pipeline_errors({"training.schedule=interleaved"}) ==
        "--set:/training/schedule: interleaved needs more than one chunk per stage, vpp is 1; use "
        "\"1f1b\", or vpp 2 or more");
  CHECK(pipeline_errors({"training.schedule=gpipe", "parallel.vpp=2"}) ==
        "--set:/training/schedule: gpipe has one chunk per stage, vpp is 2; use \"interleaved\", "
        "or vpp 1");
}

TEST_CASE("validate: the grid holds all GPUs") {
  CHECK(base_errors({"gpus=40", "perturbations=[]"}) ==
        "--set:/gpus: 40 GPUs are not a multiple of tp 4 x cp 1 x pp 4 = 16; use 32 or 48");
  CHECK(base_errors({"gpus=8", "perturbations=[]"}) ==
        "--set:/gpus: 8 GPUs are fewer than tp 4 x cp 1 x pp 4 = 16; use more GPUs, or smaller tp, "
        "cp or pp");
  CHECK(base_errors({"parallel.dp=8"}) ==
        "--set:/parallel/dp: 8 does not match 64 GPUs / (tp 4 x cp 1 x pp 4) = 4; use 4, or leave "
        "it out");
  CHECK(base_errors({"nodes=9"}) ==
        "--set:/nodes: 64 GPUs fill 8 nodes of 8, not 9; use 8, or leave it out");
  CHECK(base_errors({"parallel.zero_group=3"}) ==
        "--set:/parallel/zero_group: 3 does not divide dp 4 x cp 1 = 4; use 1, 2 or 4");
  CHECK(small_errors({"gpus=1", "parallel={\"tp\": 2097152, \"cp\": 2097152, \"pp\": 2097152}"})
            .find("1 GPU is fewer than tp 2097152 x cp 2097152 x pp 2097152; use more GPUs") !=
        std::string::npos);
}

TEST_CASE("validate: the global batch is shared evenly") {
  // bigscience: GBS 2048, MBS 1, DP 9 had to become 2043.
  CHECK(
      small_errors({"gpus=9", "batch.global=2048"}) ==
      "--set:/batch/global: 2,048 sequences are not a multiple of micro 1 x dp 9 = 9; use 2043 or "
      "2052");
  CHECK(small_errors({"gpus=8", "batch.global=4"}) ==
        "--set:/batch/global: 4 sequences are not a multiple of micro 1 x dp 8 = 8; use 8; dp "
        "cannot cut a sequence, cp can");
}

// bigcode-project/starcoder#77: 64 sequences are not 4 x 8 accumulation steps x 1 GPU.
TEST_CASE("validate: a stated number of micro batches is checked, or gives the global batch") {
  CHECK(small_errors({"batch.global=64", "batch.micro=4", "batch.micro_batches=8"}) ==
        "--set:/batch/micro_batches: global 64 is not micro 4 x dp 1 x micro_batches 8 = 32; use "
        "micro_batches 16, or global 32");
  CHECK(small_errors({"batch.global=32", "batch.micro=4", "batch.micro_batches=8"}).empty());
  const RunSpec run = read_text(R"({"model": "llama-mini", "cluster": "pod", "gpus": 2})",
                                {"batch.micro=4", "batch.micro_batches=8"});
  CHECK(run.batch.global == 64);
}

TEST_CASE("validate: what sequence parallelism and context parallelism cut") {
  CHECK(base_errors({"batch.sequence=4098"}) ==
        "--set:/batch/sequence: 4098 is not a multiple of tp 4, over which sp cuts it; use 4096 or "
        "4100");
  CHECK(small_errors({"gpus=3", "parallel.cp=3", "batch.sequence=4096"}) ==
        "--set:/batch/sequence: 4096 is not a multiple of 2 x cp 3 = 6; use 4092 or 4098");
}

TEST_CASE("validate: positions, vocabulary, recompute") {
  CHECK(
      base_errors({"model=gpt-mini", "model.max_positions=2048"}) ==
      "--set:/model/max_positions: 2,048 learned positions are fewer than sequence 4096; use 4096 "
      "or more, or a shorter sequence");
  CHECK(base_errors({"model=gpt-mini", "training.pad_vocab=false"}) ==
        "--set:/training/pad_vocab: without padding, vocab 50257 does not divide over tp 4; use "
        "true, or a tp that divides vocab");
  CHECK(base_errors({"training.recompute=full", "training.recompute_layers=33"}) ==
        "--set:/training/recompute_layers: 33 are more than the model's 32 layers; use at most 32");
}

TEST_CASE("validate: products of sizes stay within exact arithmetic") {
  CHECK(small_errors({"batch.micro=1e7", "batch.global=1e7", "batch.sequence=1e8"}) ==
        "--set:/batch/micro: micro 10000000 x sequence 100000000 x the model's widest activation "
        "128256 make 1.28e+20 values; use sizes that make at most 1.13e+15");
  CHECK(small_errors({"batch.sequence=1e8", "training.attention=unfused"}) ==
        "--set:/batch/sequence: micro 1 x heads 32 x sequence 100000000 squared make 3.2e+17 "
        "attention scores; use sizes that make at most 1.13e+15");
  CHECK(small_errors({"model.layers=1e4", "model.hidden=1e6", "model.heads=8", "model.ffn=1e7"}) ==
        "--set:/model/layers: layers 10000 x hidden 1000000 x (3 x ffn 10000000 + 4 x heads 8 x "
        "head_dim 125000) make 3.4e+17 parameters; use sizes that make at most 1.13e+15");
}

TEST_CASE("validate: the cluster fits the job") {
  CHECK(base_errors({"cluster.node.gpus_used=9"}) ==
        "--set:/cluster/node/gpus_used: 9 of a node's 8 GPUs; use at most 8");
  CHECK(base_errors({"cluster.node.nvlink={\"kind\": \"switch\"}"}) ==
        "--set:/cluster/node/nvlink/bandwidth_per_direction: is missing; write a bandwidth with "
        "its unit, such as \"400 Gb/s\" (b is bit, B is byte)");
  CHECK(base_errors({"training.precision=fp32"}) ==
        "--set:/training/precision: chip has no peak in fp32; use fp16 or bf16");
  CHECK(base_errors({"training.precision=fp8",
                     "cluster.gpu.peak={\"fp8\": \"600 TFLOP/s\", \"fp16\": \"300 TFLOP/s\"}"}) ==
        "--set:/training/precision: chip has no peak in bf16, which training in fp8 also uses; use "
        "fp16");
  CHECK(base_errors({"stack.flash_version=3"}).find("3 is a number") != std::string::npos);
  CHECK(base_errors({"stack.flash_version=\"3\""}) ==
        "--set:/stack/flash_version: chip has no figures for flash attention \"3\"; use \"2\"");
}

TEST_CASE("validate: perturbations name one thing inside the machine and what is wrong with it") {
  const auto one = [](const std::string& item) {
    return base_errors({"perturbations=[" + item + "]"});
  };
  CHECK(one(R"({"gpu": 64, "speed": 0.5})") ==
        "--set:/perturbations/0/gpu: 64 is outside the 64 GPU slots of the job; use 0 to 63");
  CHECK(one(R"({"speed": 0.5})") ==
        "--set:/perturbations/0: names nothing; state exactly one of gpu, node, link, rail, "
        "spine or jitter");
  CHECK(one(R"({"gpu": 1, "node": 1, "speed": 0.5})") ==
        "--set:/perturbations/0: names several things; state exactly one of gpu, node, link, rail, "
        "spine or jitter");
  CHECK(one(R"({"gpu": 1, "bandwidth": 0.5})") ==
        "--set:/perturbations/0/bandwidth: a gpu has no bandwidth; state speed");
  CHECK(one(R"({"gpu": 1})") == "--set:/perturbations/0: says nothing about the gpu; state speed");
  CHECK(one(R"({"gpu": 1, "speed": 1.5})") ==
        "--set:/perturbations/0/speed: 1.5 is out of range; use a number from 1e-06 to 1");
  CHECK(one(R"({"jitter": 0.02, "speed": 0.5})").find("a jitter has no speed; leave it out") !=
        std::string::npos);
}

TEST_CASE("validate: a step too long to simulate is refused before it eats the memory") {
  // 32 layers x 50 + 20 operations of 72 B and 2 passes of 300 B: 117 kB a micro batch, 73,267 in
  // 8 GiB.
  CHECK(
      small_errors({"gpus=8", "batch.global=8000000"}) ==
      "--set:/batch/global: 1,000,000 micro batches of 32 layers in 1 stage of 1 chunk need about "
      "109 GiB of memory to simulate; use global 586136 or less, or a larger micro batch");
  CHECK(small_errors({"gpus=8", "batch.global=586144"}).find("need about 8 GiB") !=
        std::string::npos);
  CHECK(small_errors({"gpus=8", "batch.global=586136"}).empty());
  CHECK(small_errors({"gpus=8", "batch.global=8000000", "batch.micro=100"}).empty());
  // Stages share the layers; whole groups of micro batches under interleaving.
  CHECK(small_errors({"gpus=4", "parallel.pp=4", "parallel.vpp=2", "batch.global=10000000"})
            .find("use global 235468 or less") != std::string::npos);
  CHECK(small_errors({"model.layers=10000", "batch.global=1000000"}).find("/batch/global") !=
        std::string::npos);
}
