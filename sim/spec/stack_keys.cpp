#include "spec/known_names.h"
#include "spec/tables.h"

namespace shardsim {
namespace {

using T = TrainingSpec;
using Keys = std::vector<Key<TrainingSpec>>;

// PyTorch's LayerNorm and SwiGLU reach 0.49-0.51 of an H100's memory bandwidth where tuned kernels
// reach 0.80 and more (Dao-AILab/quack, pyptx).
constexpr double kEagerFactor = 1.6;

const std::vector<std::string> kStored{"fp32", "fp16", "bf16"};  // a prefix of Precision

void add_numerics(Keys& keys) {
  keys.push_back({{"precision", choice(precision_names()), by_default("\"bf16\""),
                   "number format of the layers' matrix products"},
                  [](T& t, const Parsed& v) { t.precision = static_cast<Precision>(v.choice); }});
  keys.push_back({{"grad_dtype", choice(kStored), by_default("\"fp32\""),
                   "number format in which gradients are summed"},
                  [](T& t, const Parsed& v) { t.grad_dtype = static_cast<Precision>(v.choice); }});
  keys.push_back({{"param_dtype", choice(kStored),
                   derived("fp16 or fp32 when that is the precision, else bf16"),
                   "number format of the weights that layers use"},
                  [](T& t, const Parsed& v) { t.param_dtype = static_cast<Precision>(v.choice); }});
  keys.push_back({{"optimizer", choice({"adam", "sgd"}), by_default("\"adam\""), "the optimizer"},
                  [](T& t, const Parsed& v) { t.optimizer = static_cast<Optimizer>(v.choice); }});
  keys.push_back(
      {{"attention", choice({"flash", "unfused"}), by_default("\"flash\""), "attention core"},
       [](T& t, const Parsed& v) { t.attention = static_cast<AttentionKind>(v.choice); }});
}

void add_recompute(Keys& keys) {
  keys.push_back({{"recompute", choice({"none", "selective", "full"}), by_default("\"none\""),
                   "what backward computes again"},
                  [](T& t, const Parsed& v) { t.recompute = static_cast<Recompute>(v.choice); }});
  keys.push_back(
      {{"recompute_modules",
        list_of(choice({"core_attn", "mlp", "layernorm", "moe_act", "mla_up_proj", "moe"})),
        by_default("[\"core_attn\"]"), "what selective recompute computes again"},
       [](T& t, const Parsed& v) {
         t.recompute_modules.clear();
         for (const int index : v.choices) {
           t.recompute_modules.push_back(static_cast<RecomputeModule>(index));
         }
       }});
  keys.push_back(
      {{"recompute_method", choice({"uniform", "block"}), by_default("\"uniform\""),
        "uniform: checkpoints every recompute_layers; block: the first recompute_layers of a "
        "chunk"},
       [](T& t, const Parsed& v) { t.recompute_method = static_cast<RecomputeMethod>(v.choice); }});
  keys.push_back({{"recompute_layers", integer(1, kMaxLayers), by_default("1"),
                   "layers per checkpoint (uniform) or per chunk (block)"},
                  [](T& t, const Parsed& v) { t.recompute_layers = v.integer; }});
}

void add_pipeline(Keys& keys) {
  keys.push_back({{"schedule", choice(names(known_schedules())),
                   derived("interleaved when vpp > 1, else 1f1b"), "order of passes on a stage"},
                  [](T& t, const Parsed& v) { t.schedule = v.text; }});
  keys.push_back({{"p2p_scatter_gather", boolean(), by_default("false"),
                   "stage boundaries cut over the TP ranks and gathered behind"},
                  [](T& t, const Parsed& v) { t.p2p_scatter_gather = v.boolean; }});
  keys.push_back(
      {{"grad_bucket", quantity_above(Dimension::bytes, 0, 1e15),
        derived("max(40 M, 1 M x dp x cp) parameters"), "gradients that are reduced together"},
       [](T& t, const Parsed& v) { t.grad_bucket = Bytes{v.integer}; }});
  keys.push_back(
      {{"pad_vocab", boolean(), by_default("true"), "vocabulary padded to a multiple of 128 x tp"},
       [](T& t, const Parsed& v) { t.pad_vocab = v.boolean; }});
  keys.push_back({{"overlap_slowdown", number(0, 10), by_default("0.0"),
                   "by how much kernels beside a collective are lengthened"},
                  [](T& t, const Parsed& v) { t.overlap_slowdown = v.number; }});
  keys.push_back({{"memory_reserve", quantity(Dimension::bytes, 0, 1e15), by_default("\"2 GiB\""),
                   "memory that is not the program's"},
                  [](T& t, const Parsed& v) { t.memory_reserve = Bytes{v.integer}; }});
}

void add_sharding(Keys& keys) {
  keys.push_back(
      {{"grad_sync", choice({"step", "micro_batch"}), derived("micro_batch under ZeRO 2 and 3"),
        "when gradients are reduced: once a step, or after each micro batch's backward"},
       [](T& t, const Parsed& v) { t.grad_sync = static_cast<GradSync>(v.choice); }});
  keys.push_back(
      {{"reshard_after_forward", boolean(), by_default("true"),
        "ZeRO 3: drop gathered weights after forward and gather them again for backward"},
       [](T& t, const Parsed& v) { t.reshard_after_forward = v.boolean; }});
}

void add_overlap(Keys& keys) {
  keys.push_back({{"overlap", object(), by_default("{}"), "what runs beside compute"}, {}});
  keys.push_back({{"overlap.grad_reduce", boolean(), by_default("true"),
                   "gradient buckets beside the last backward"},
                  [](T& t, const Parsed& v) { t.overlap.grad_reduce = v.boolean; }});
  keys.push_back({{"overlap.param_gather", boolean(), by_default("true"),
                   "ZeRO parameter gather beside the first forward"},
                  [](T& t, const Parsed& v) { t.overlap.param_gather = v.boolean; }});
  keys.push_back({{"overlap.tp", boolean(), by_default("false"),
                   "TP collectives in chunks beside matrix products"},
                  [](T& t, const Parsed& v) { t.overlap.tp = v.boolean; }});
  keys.push_back({{"overlap.cp", boolean(), by_default("true"), "the CP ring beside attention"},
                  [](T& t, const Parsed& v) { t.overlap.cp = v.boolean; }});
  keys.push_back({{"overlap.pp", boolean(), by_default("true"), "stage boundaries beside compute"},
                  [](T& t, const Parsed& v) { t.overlap.pp = v.boolean; }});
  keys.push_back(
      {{"overlap.ep", boolean(), by_default("false"), "EP collectives beside shared experts"},
       [](T& t, const Parsed& v) { t.overlap.ep = v.boolean; }});
}

void add_software(std::vector<Key<StackFile>>& keys) {
  using S = StackFile;
  keys.push_back(
      {{"kernels", choice({"fused", "eager"}), by_default("\"fused\""), "memory-bound kernels"},
       [](S& s, const Parsed& v) { s.stack.kernels = static_cast<KernelStyle>(v.choice); }});
  keys.push_back({{"flash_version", choice({"1", "2", "3"}), by_default("\"2\""),
                   "generation of the fused attention"},
                  [](S& s, const Parsed& v) { s.stack.flash_version = v.text; }});
  keys.push_back(
      {{"grad_accumulation_bytes", quantity(Dimension::bytes, 0, 1000), by_default("\"6 B\""),
        "traffic to accumulate one weight's gradient"},
       [](S& s, const Parsed& v) { s.stack.grad_accumulation_bytes = Bytes{v.integer}; }});
  keys.push_back({{"host_time_per_kernel", quantity(Dimension::time, 0, 1),
                   derived("the GPU file's"), "time the host takes to launch one kernel"},
                  [](S& s, const Parsed& v) { s.stack.host_time_per_kernel = Seconds{v.number}; }});
  keys.push_back({{"p2p", choice({"blocking", "overlapped"}), by_default("\"overlapped\""),
                   "how stage boundaries are sent"},
                  [](S& s, const Parsed& v) { s.stack.p2p = static_cast<P2pStyle>(v.choice); }});
  keys.push_back({{"tp_wgrad_overlap", boolean(), by_default("true"),
                   "backward TP collectives run beside the weight gradient"},
                  [](S& s, const Parsed& v) { s.stack.tp_wgrad_overlap = v.boolean; }});
  keys.push_back({{"weight_gradient_placeholders", boolean(), by_default("false"),
                   "fused weight gradients leave an unread tensor of each distinct shape"},
                  [](S& s, const Parsed& v) { s.stack.weight_gradient_placeholders = v.boolean; }});
  keys.push_back({{"elementwise_factor", number(1, 100), derived("1.0, with eager kernels 1.6"),
                   "traffic of memory-bound kernels over the least possible"},
                  [](S& s, const Parsed& v) { s.stack.elementwise_factor = v.number; }});
}

}  // namespace

const std::vector<Key<TrainingSpec>>& training_keys() {
  static const Keys table = [] {
    Keys keys;
    add_numerics(keys);
    add_recompute(keys);
    add_pipeline(keys);
    add_sharding(keys);
    add_overlap(keys);
    return keys;
  }();
  return table;
}

const std::vector<Key<StackFile>>& stack_keys() {
  static const std::vector<Key<StackFile>> table = [] {
    std::vector<Key<StackFile>> keys;
    keys.push_back({{"name", filled_text(), required(), "shown in reports"},
                    [](StackFile& s, const Parsed& v) { s.stack.name = v.text; }});
    keys.push_back({{"source", filled_text(), required(), "where the statements come from"},
                    [](StackFile& s, const Parsed& v) { s.stack.source = v.text; }});
    keys.push_back(
        {{"training", object(), absent(), "defaults for the training keys of runs"}, {}});
    embed(keys, "training.", training_keys(),
          [](StackFile& s) -> TrainingSpec& { return s.training; });
    add_software(keys);
    return keys;
  }();
  return table;
}

StackSpec read_stack_value(const JsonValue& json, const std::string& prefix, TrainingSpec& training,
                           ReadLog& log) {
  StackFile file{{}, training};
  ReadLog own;
  read_into(file, json, stack_keys(), prefix, own);
  log.problems.insert(log.problems.end(), own.problems.begin(), own.problems.end());
  log.failed.insert(log.failed.end(), own.failed.begin(), own.failed.end());
  for (const std::string& key : own.defaults_taken) {
    // What a stack does not say about training is not missing there: the run's list has it.
    if (key.compare(0, prefix.size() + 9, prefix + "training.") != 0) {
      log.defaults_taken.push_back(key);
    }
  }
  const bool eager = file.stack.kernels == KernelStyle::eager;
  if (eager && find_path(json, "elementwise_factor") == nullptr) {
    file.stack.elementwise_factor = kEagerFactor;
  }
  training = file.training;
  return file.stack;
}

}  // namespace shardsim
