// A good run file: values, defaults, overrides, references.
#include <algorithm>

#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("read_run: stated values are read, derived ones filled") {
  const RunSpec run = read_base();
  CHECK(run.model.name == "llama-mini");
  CHECK(run.model.head_dim == 128);  // 4096 / 32
  CHECK(run.model.position == Position::rope);
  CHECK(run.model.bias == Bias::none);
  CHECK(run.model.activation == Activation::silu);
  CHECK(run.model.dropout == 0.0);
  CHECK(run.model.max_positions == 0);
  CHECK(run.cluster.gpu.name == "chip");
  CHECK(run.cluster.gpu.memory_capacity == Bytes{std::int64_t{80} << 30});
  CHECK(run.cluster.node.nic.bandwidth_per_direction.value() == 25e9);
  CHECK(run.cluster.node.gpus_used == 8);
  CHECK(run.cluster.fabric.tiers ==
        std::vector<TierSpec>{{.radix = 64}, {.radix = 64, .oversubscription = 2.0}});
  CHECK(run.cluster.corrections.node_ramp.value() == Approx(7e-6));
  CHECK(run.gpus == 64);
  CHECK(run.nodes == 8);
  CHECK(run.parallel.dp == 4);           // 64 / (4 x 4)
  CHECK(run.parallel.zero_group == 4);   // dp x cp
  CHECK(run.batch.micro_batches == 16);  // 64 / (1 x 4)
  CHECK(run.training.schedule == "interleaved");
  CHECK(run.stack.name == "megatron-core");
  CHECK(run.perturbations.size() == 2);
  CHECK(run.perturbations[1].kind == Perturbation::Kind::link);
  CHECK(run.perturbations[1].factor == 0.5);
  CHECK(run.warnings.empty());
}

TEST_CASE("read_run: defaults taken are listed by dotted key, stated keys are not") {
  const RunSpec run = read_base({"parallel.ep=1"});
  for (const char* key : {"stack", "parallel.cp", "training.precision", "training.overlap.tp",
                          "model.head_dim", "cluster.node.gpus_used", "parallel.dp"}) {
    CAPTURE(key);
    CHECK(has(run.defaults_taken, key));
  }
  for (const char* key : {"parallel.tp", "parallel.ep", "training.recompute", "model.moe",
                          "model.kv_heads", "moe.imbalance"}) {
    CAPTURE(key);
    CHECK_FALSE(has(run.defaults_taken, key));
  }
  CHECK_FALSE(has(read_base({"stack=old"}).defaults_taken, "stack"));
}

TEST_CASE("read_run: GPT defaults follow from layernorm") {
  const RunSpec run = read_base({"model=gpt-mini", "batch.sequence=1024"});
  CHECK(run.model.kv_heads == 16);  // no key: as many as heads
  CHECK(run.model.position == Position::learned);
  CHECK(run.model.bias == Bias::all);
  CHECK(run.model.activation == Activation::gelu);
  CHECK(run.model.dropout == 0.1);
  CHECK(run.model.max_positions == 2048);
  CHECK(read_base({"model=gpt-mini"}).model.max_positions == 4096);  // the sequence is longer
}

TEST_CASE("read_run: order is built-in default, stack, run file, override") {
  const RunSpec old = read_base({"stack=old"});
  CHECK(old.training.attention == AttentionKind::unfused);
  CHECK(old.training.grad_dtype == Precision::bf16);
  CHECK_FALSE(old.training.overlap.grad_reduce);
  CHECK(old.training.overlap.param_gather);
  CHECK(old.stack.p2p == P2pStyle::blocking);
  CHECK(old.stack.host_time_per_kernel->value() == Approx(36e-6));
  CHECK(read_base({"stack=old", "training.grad_dtype=fp16"}).training.grad_dtype ==
        Precision::fp16);
  CHECK(read_base({"stack.elementwise_factor=1.5"}).stack.elementwise_factor == 1.5);
  CHECK(read_base({"stack.training.pad_vocab=false"}).training.pad_vocab == false);
}

TEST_CASE("read_run: parameters are stored in the precision of fp16 and fp32 runs") {
  CHECK(read_base().training.param_dtype == Precision::bf16);
  CHECK(read_base({"training.precision=fp16"}).training.param_dtype == Precision::fp16);
  CHECK(read_base({"training.precision=fp16", "training.param_dtype=fp32"}).training.param_dtype ==
        Precision::fp32);
}

TEST_CASE("read_run: overrides go into named files, lists and whole keys") {
  const RunSpec run = read_base(
      {"cluster.node.nics.bandwidth_per_direction=25 GB/s", "cluster.gpu.sms=100",
       "perturbations.0.speed=0.5", "perturbations.2={\"node\": 1, \"speed\": 0.9}",
       "parallel.layers_per_stage=[4,4,4,4,4,4,4,4]", "batch.global=1.28e2", "model.name=8b"});
  CHECK(run.cluster.node.nic.bandwidth_per_direction.value() == 25e9);
  CHECK(run.cluster.gpu.sms == 100);
  CHECK(run.perturbations.at(0).factor == 0.5);
  CHECK(run.perturbations.at(2).kind == Perturbation::Kind::node);
  CHECK(run.parallel.layers_per_stage.size() == 8);
  CHECK(run.batch.global == 128);
  CHECK(run.model.name == "8b");  // no JSON: a string
  // The last one holds; a whole key set to a name loads that file, also over a name that is wrong.
  CHECK(read_base({"parallel.vpp=4", "parallel.vpp=2"}).parallel.vpp == 2);
  CHECK(read_text(R"({"model": "nobody", "cluster": "pod", "gpus": 8})", {"model=llama-mini"})
            .model.name == "llama-mini");
  CHECK(read_base({"model.layers=8", "model=gpt-mini"}).model.layers == 24);
}

TEST_CASE("read_run: references are names, paths relative to the file, or objects") {
  use_test_data();
  // box.json names its GPU by the path gpus/chip.json beside it.
  CHECK(read_base({"cluster=box", "gpus=4", "perturbations=[]", "parallel={}"}).cluster.gpu.name ==
        "chip");
  const RunSpec run = read_run_text(
      R"({"model": "models/gpt-mini.json", "gpus": 4, "cluster": {"name": "inline", "source": "-",
          "gpu": "chip", "node": {"gpus": 4, "nvlink": {"kind": "switch",
          "bandwidth_per_direction": "1 TB/s"}}, "fabric": {"family": "single_node"}}})",
      data_path() + "/here.json");
  CHECK(run.model.name == "gpt-mini");
  CHECK(run.cluster.name == "inline");
}

TEST_CASE("read_run: the least file is a model, a cluster and a size") {
  const RunSpec run = read_text(R"({"model": "llama-mini", "cluster": "pod", "nodes": 2})");
  CHECK(run.gpus == 16);
  CHECK(run.parallel.dp == 16);
  CHECK(run.batch.global == 16);  // one micro batch on each rank
  CHECK(run.batch.micro_batches == 1);
  CHECK(run.training.schedule == "1f1b");
}

TEST_CASE("read_run: kv_heads below tp, explicit head_dim and unpadded vocabularies are read") {
  const RunSpec run = read_base({"parallel.tp=16", "model.head_dim=96", "training.pad_vocab=false",
                                 "model.qk_norm=true", "model.tied_embeddings=true"});
  CHECK(run.model.kv_heads == 8);
  CHECK(run.model.head_dim == 96);
  CHECK(run.model.qk_norm);
  CHECK(run.warnings.front() ==
        "8 KV heads for tp 16: KV weights are not cut to 1/16, 2 ranks hold the same head");
}

TEST_CASE("read_run: legal but hardly meant is a warning") {
  CHECK(read_base({"parallel={\"sp\": true}", "perturbations=[]"}).warnings ==
        std::vector<std::string>{
            "parallel.sp has no effect with tp 1: it shares tokens among the ranks of a tp "
            "group"});
  CHECK(read_base({"parallel={}", "training.schedule=gpipe"}).warnings ==
        std::vector<std::string>{"training.schedule has no effect with pp 1"});
  // dp fastest: ranks of one TP group are 4 apart, so its 4 ranks sit in 2 nodes of 8.
  CHECK(read_base({"parallel.order=dp-tp-cp-ep-pp"}).warnings ==
        std::vector<std::string>{"a TP group of 4 spans 2 nodes: its collectives leave the NVLink "
                                 "domain of 8 GPUs"});
}

TEST_CASE("read_cluster and read_model take names and paths") {
  use_test_data();
  CHECK(read_cluster("pod", {"node.nics.count=4"}).node.nics == 4);
  CHECK(read_cluster("pod", {"gpu.sms=7"}).gpu.sms == 7);
  CHECK(read_cluster(data_path() + "/topologies/box.json").node.gpus_used == 4);
  CHECK(read_model("gpt-mini").layers == 24);
  CHECK(names_of(Format::model) == std::vector<std::string>{"gpt-mini", "llama-mini"});
  CHECK(names_of(Format::gpu) == std::vector<std::string>{"chip"});
  CHECK(names_of(Format::stack) == std::vector<std::string>{"megatron-core", "old"});
}

TEST_CASE("read run: eager kernels take 1.6 times the traffic unless stated") {
  CHECK(read_base().stack.elementwise_factor == 1.0);
  CHECK(read_base({"stack.kernels=eager"}).stack.elementwise_factor == 1.6);
  CHECK(
      read_base({"stack.kernels=eager", "stack.elementwise_factor=1.2"}).stack.elementwise_factor ==
      1.2);
}
