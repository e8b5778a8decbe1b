// One training job as the user asked for it: typed, validated, defaults filled, references loaded.
//
// Everything downstream reads this value only. Derived members (dp, gpus, micro_batches) are filled
// by the reader, which has checked them against each other.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "spec/cluster_spec.h"
#include "spec/model_spec.h"
#include "spec/precision.h"

namespace shardsim {

// Dimensions of the rank grids: tp cp dp pp of dense layers, etp ep edp pp of experts.
enum class Axis : std::uint8_t { tp, cp, ep, dp, pp, etp, edp };
inline constexpr std::size_t kAxisCount = 7;
inline constexpr std::size_t kOrderAxes = 5;  // tp, cp, ep, dp and pp, which the order string names

enum class KvStrategy { shared, replicate, gather };
enum class VocabCut { vocab, hidden, none };
enum class CpComm { p2p, all_gather, a2a, a2a_p2p };

struct ParallelSpec {
  std::int64_t tp = 1;
  bool sp = false;
  std::int64_t cp = 1;
  CpComm cp_comm = CpComm::p2p;
  bool cp_balanced = true;  // each rank an early and a late chunk of the sequence (zig-zag)
  std::int64_t cp_a2a =
      1;  // a2a+p2p: neighbours of a cp group that exchange heads; rings join them
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  std::int64_t ep = 1;
  std::int64_t etp = 1;
  std::int64_t dp = 1;          // derived: gpus / (tp * cp * pp)
  std::int64_t zero = 0;        // ZeRO stage; 1 = distributed optimizer
  std::int64_t zero_group = 1;  // ranks that share one copy of the sharded state; default dp * cp
  std::array<Axis, kOrderAxes> order{Axis::tp, Axis::cp, Axis::ep, Axis::dp,
                                     Axis::pp};  // fastest first
  std::vector<std::int64_t> layers_per_stage;    // empty, or pp entries, or pp * vpp in chunk order
  bool count_embedding_as_layer = false;
  bool count_loss_as_layer = false;
  std::string layout;  // Megatron's layout string; empty = none
  KvStrategy kv_strategy = KvStrategy::shared;
  VocabCut vocab_cut = VocabCut::vocab;
  bool operator==(const ParallelSpec&) const = default;
};

struct BatchSpec {
  std::int64_t micro = 1;          // sequences of one micro batch on one rank
  std::int64_t global = 1;         // sequences of one step
  std::int64_t sequence = 2048;    // tokens of a sequence
  std::int64_t micro_batches = 1;  // derived: global / (micro * dp), per pipeline
  bool operator==(const BatchSpec&) const = default;
};

enum class Optimizer { adam, sgd };
enum class AttentionKind { flash, unfused };
enum class Recompute { none, selective, full };
enum class RecomputeModule { core_attn, mlp, layernorm, moe_act, mla_up_proj, moe };
enum class RecomputeMethod { uniform, block };
enum class GradSync { step, micro_batch };

struct OverlapSpec {
  bool grad_reduce = true;   // gradient buckets reduced beside the last micro batch's backward
  bool param_gather = true;  // ZeRO parameter gather beside the first micro batch's forward
  bool tp = false;           // TP collectives in chunks beside GEMMs (userbuffers)
  bool cp = true;
  bool pp = true;   // stage-boundary send/recv beside compute
  bool ep = false;  // shared experts beside dispatch and combine; dualpipe: F beside B's
  bool operator==(const OverlapSpec&) const = default;
};

struct TrainingSpec {
  Precision precision = Precision::bf16;
  Precision grad_dtype = Precision::fp32;
  Precision param_dtype = Precision::bf16;  // fp16 when precision is fp16
  Optimizer optimizer = Optimizer::adam;
  AttentionKind attention = AttentionKind::flash;
  Recompute recompute = Recompute::none;
  std::vector<RecomputeModule> recompute_modules{RecomputeModule::core_attn};
  RecomputeMethod recompute_method = RecomputeMethod::uniform;
  std::int64_t recompute_layers = 1;  // uniform: layers per checkpoint; block: layers per chunk
  std::string schedule;               // a name of workload/schedules' table; default by vpp
  bool p2p_scatter_gather = false;
  std::optional<Bytes> grad_bucket;   // none = Megatron's rule, see workload
  std::optional<GradSync> grad_sync;  // none = micro_batch under ZeRO 2 and 3, else step
  bool reshard_after_forward = true;  // ZeRO 3: weights gathered for forward are dropped after it
  bool pad_vocab = true;
  double overlap_slowdown = 0.0;
  Bytes memory_reserve{std::int64_t{2} << 30};
  OverlapSpec overlap;
  bool operator==(const TrainingSpec&) const = default;
};

enum class KernelStyle { fused, eager };
enum class P2pStyle { blocking, overlapped };

// A software preset (configs/stacks/*.json): a statement about software, with a source.
struct StackSpec {
  std::string name;
  std::string source;
  KernelStyle kernels = KernelStyle::fused;
  std::string flash_version = "2";
  Bytes grad_accumulation_bytes{
      6};  // traffic per weight and micro batch to accumulate its gradient
  std::optional<Seconds> host_time_per_kernel;  // replaces the GPU file's
  P2pStyle p2p = P2pStyle::overlapped;
  bool tp_wgrad_overlap = true;  // backward TP collectives run beside the weight-gradient GEMM
  bool weight_gradient_placeholders = false;  // see workload/software_memory.h
  double elementwise_factor = 1.0;  // memory-bound kernels take this many times their traffic
  bool operator==(const StackSpec&) const = default;
};

// Who moves tokens to experts: one all-to-all with a copy of the token per expert, or DeepEP, which
// sends a token to each node once and copies it there over NVLink.
enum class Dispatcher { alltoall, deepep };

struct MoeRunSpec {
  double imbalance = 1.0;  // tokens of the busiest rank over the mean
  Dispatcher dispatcher = Dispatcher::alltoall;
  std::string load_file;                        // empty = none
  std::vector<std::int64_t> tokens_per_expert;  // the file's; empty = none
  bool operator==(const MoeRunSpec&) const = default;
};

struct CollectiveChoice {
  std::string algorithm = "auto";
  std::string protocol = "auto";
  std::optional<std::int64_t> channels;
  bool operator==(const CollectiveChoice&) const = default;
};

struct Perturbation {
  enum class Kind { gpu, node, link, rail, spine, jitter };
  Kind kind = Kind::gpu;
  std::int64_t index = 0;  // gpu (physical slot), node, rail or spine number
  std::string link;        // link name, for Kind::link
  double factor = 1.0;     // speed or bandwidth fraction, or the jitter's amplitude
  bool dead = false;
  std::int64_t seed = 0;  // jitter only
  bool operator==(const Perturbation&) const = default;
};

struct PlanSpec {
  std::optional<std::int64_t> tokens;
  std::optional<Dollars> gpu_hour_cost;
  bool operator==(const PlanSpec&) const = default;
};

struct RunSpec {
  std::string file;  // where it came from, for messages
  ModelSpec model;
  ClusterSpec cluster;
  StackSpec stack;
  std::int64_t gpus = 0;   // ranks of the job
  std::int64_t nodes = 0;  // derived: nodes the ranks occupy, the last may be partly filled
  ParallelSpec parallel;
  BatchSpec batch;
  TrainingSpec training;
  MoeRunSpec moe;
  std::map<std::string, CollectiveChoice> collectives;  // by primitive: all_reduce, all_gather, ...
  std::vector<Perturbation> perturbations;
  PlanSpec plan;
  // What the user did not state: "key = value", or "set by stack NAME: key = value".
  std::vector<std::string> defaults_taken;
  std::vector<std::string> warnings;  // legal but probably not meant
  bool operator==(const RunSpec&) const = default;
};

}  // namespace shardsim
