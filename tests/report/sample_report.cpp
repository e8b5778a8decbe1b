#include "sample_report.h"

namespace shardsim {

namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30;

RunSpec sample_run() {
  RunSpec run;
  run.file = "/somewhere/sample.json";
  run.model.name = "sample-model";
  run.model.layers = 4;
  run.model.hidden = 1024;
  run.model.ffn = 4096;
  run.model.heads = 16;
  run.model.kv_heads = 8;
  run.cluster.name = "sample-cluster";
  run.cluster.source = "NIC: data sheet; hop_latency: assumed. Rest measured";
  run.cluster.gpu.name = "sample-gpu";
  run.cluster.node.gpus = 8;
  run.cluster.node.gpus_used = 8;
  run.cluster.node.nvlink.bandwidth_per_direction = BytesPerSecond{450e9};
  run.cluster.node.nic.bandwidth_per_direction = BytesPerSecond{50e9};
  run.stack.name = "sample-stack";
  run.gpus = 64;
  run.nodes = 8;
  run.parallel.tp = 8;
  run.parallel.pp = 2;
  run.parallel.dp = 4;
  run.batch = {.micro = 1, .global = 32, .sequence = 2048, .micro_batches = 8};
  run.training.schedule = "1f1b";
  run.defaults_taken = {"parallel.cp = 1", "training.optimizer = adam",
                        "set by stack sample-stack: training.overlap.tp = false"};
  run.warnings = {"sp with tp = 1 has no effect"};
  return run;
}

Breakdown sample_breakdown() {
  Breakdown mean;
  mean[Bin::compute] = 1.2;
  mean[Bin::tp] = 0.4;
  mean[Bin::pp] = 0.1;
  mean[Bin::dp] = 0.1;
  mean[Bin::bubble] = 0.2;
  return mean;
}

CriticalPath sample_path() {
  CriticalPath path;
  path.by_category[Bin::compute] = 1.6;
  path.by_category[Bin::tp] = 0.4;
  PathSegment kernel;
  kernel.end_s = 1.6;
  kernel.micro_batch = 3;
  kernel.layer = 1;
  PathSegment flow;
  flow.start_s = 1.6;
  flow.end_s = 2.0;
  flow.bin = Bin::tp;
  flow.stage = 1;
  flow.rank_class = 1;
  flow.label = 1;
  flow.link = 0;
  path.segments = {kernel, flow};
  return path;
}

MemoryUse sample_memory() {
  StageMemory stage;
  stage.weights = Bytes{10 * kGib};
  stage.gradients = Bytes{20 * kGib};
  stage.optimizer = Bytes{5 * kGib};
  stage.activations = Bytes{8 * kGib};
  stage.other = Bytes{2 * kGib};
  stage.peak = Bytes{45 * kGib};
  MemoryUse memory;
  memory.stages = {stage, stage};
  memory.stages[1].stage = 1;
  memory.peak = stage.peak;
  memory.capacity = Bytes{80 * kGib};
  return memory;
}

CollectiveUse collective(const std::string& group, const std::string& label, double time,
                         double exposed, const std::string& link, double bandwidth) {
  CollectiveUse use;
  use.group = group;
  use.label = label;
  use.algorithm = group == "pp" ? "send_recv" : "ring";
  use.count = 100;
  use.message = Bytes{33'554'432};
  use.time_s = time;
  use.exposed_s = exposed;
  use.bound_link = link;
  use.bound = BytesPerSecond{bandwidth};
  return use;
}

Analysis sample_analysis() {
  Analysis analysis;
  analysis.step_s = 2.0;
  analysis.breakdown = sample_breakdown();
  analysis.breakdown_per_stage = {sample_breakdown(), sample_breakdown()};
  analysis.critical_path = sample_path();
  analysis.memory = sample_memory();
  analysis.rates.tokens_per_s = 32768;  // 32 sequences of 2048 in 2 s
  analysis.rates.tokens_per_s_per_gpu = 512;
  analysis.rates.model_flops_per_token = 449.2e9;
  analysis.rates.model_tflops_per_gpu = 229.9904;
  analysis.rates.mfu = 0.2325;
  analysis.rates.hfu = 0.31;
  analysis.rates.flops_convention = "nvidia-causal";
  analysis.rates.peak = FlopPerSecond{989e12};
  analysis.rates.peak_name = "bf16 dense";
  analysis.links = {{"node0.gpu0.nvlink.tx", 64, 0.25, 225e9, {{"tp", 225e9}}}};
  analysis.collectives = {
      collective("tp", "attention out all_reduce", 0.5, 0.4, "node0.gpu0.nvlink.tx", 400e9),
      collective("dp", "gradient bucket all_reduce", 0.3, 0.1, "node0.nic0.tx", 47e9),
      collective("pp", "stage boundary", 0.15, 0.1, "node0.nic0.tx", 47e9)};
  analysis.parameters = 70'553'706'496;
  analysis.active_parameters = 70'553'706'496;
  return analysis;
}

Trace sample_trace() {
  Trace trace;
  trace.labels = {"attention out", "attention out all_reduce"};
  trace.links.resize(1);
  trace.links[0].name = "node0.gpu0.nvlink.tx";
  trace.ranks.resize(2);
  trace.ranks[1].representative = 32;
  trace.counts = {.ranks = 64, .rank_classes = 2, .timers = 12345, .flows = 678};
  return trace;
}

// One pass that starts 100 times what each group does: 33,554,432 bytes each.
Program sample_program() {
  Program program;
  PassTemplate step;
  for (const AxisSet group : {axis_set(Axis::tp), axis_set(Axis::dp), AxisSet{0}}) {
    Communication communication;
    communication.primitive = group == 0 ? Primitive::send : Primitive::all_reduce;
    communication.group = group;
    communication.bytes = Bytes{33'554'432};
    program.communications.push_back(communication);
    Op op;
    op.kind = OpKind::communication;
    op.communication = count(program.communications) - 1;
    step.ops.push_back(op);
  }
  program.templates = {step};
  RankProgram rank;
  rank.passes.assign(100, Pass{});
  program.programs = {rank};
  program.program_of_rank.assign(64, 0);
  return program;
}

// Node by node, as the default order places them; or one rank per node after the other.
std::vector<NodeId> node_of_rank(bool cross) {
  std::vector<NodeId> nodes;
  for (Rank rank = 0; rank < 64; ++rank) nodes.push_back(cross ? rank % 8 : rank / 8);
  return nodes;
}

}  // namespace

RunReport sample_report() {
  return make_run_report(sample_run(), sample_program(), sample_analysis(), sample_trace(),
                         node_of_rank(false));
}

RunReport sample_cross_report() {
  Analysis analysis = sample_analysis();
  analysis.step_s = 4.0;
  analysis.breakdown[Bin::tp] = 2.0;
  analysis.breakdown[Bin::bubble] = 0.6;
  analysis.collectives[0].time_s = 2.5;
  analysis.collectives[0].exposed_s = 2.0;
  analysis.collectives[0].bound_link = "node0.nic0.tx";
  analysis.collectives[0].bound = BytesPerSecond{50e9};
  return make_run_report(sample_run(), sample_program(), analysis, sample_trace(),
                         node_of_rank(true));
}

}  // namespace shardsim
