#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"
#include "base/text.h"
#include "spec/known_names.h"
#include "spec/tables.h"

namespace shardsim {
namespace {

using Keys = std::vector<Key<RunSpec>>;
using R = RunSpec;

void store_order(RunSpec& run, const Parsed& value) {
  const std::vector<std::string> axis_names{"tp", "cp", "ep", "dp", "pp"};  // in Axis' order
  std::array<Axis, kOrderAxes> order{};
  std::array<bool, kOrderAxes> seen{};
  const std::vector<std::string> parts = split(value.text, '-');
  bool good = parts.size() == kOrderAxes;
  for (std::size_t i = 0; good && i < parts.size(); ++i) {
    const auto at = std::find(axis_names.begin(), axis_names.end(), parts[i]);
    good = at != axis_names.end();
    if (good) {
      const auto axis = static_cast<std::size_t>(at - axis_names.begin());
      good = !seen[axis];
      seen[axis] = true;
      order[i] = static_cast<Axis>(axis);
    }
  }
  if (good) {
    run.parallel.order = order;
    return;
  }
  value.log->failed.emplace_back("parallel.order");
  add_problem(*value.log, *value.json, brief_json(*value.json) + " is no order of the five axes",
              "use each of tp, cp, ep, dp and pp once, fastest first, such as \"tp-cp-ep-dp-pp\"");
}

void add_degrees(Keys& keys) {
  const ValueType degree = integer(1, kMaxGpus);
  keys.push_back({{"parallel", object(), by_default("{}"), "how the ranks share the work"}, {}});
  keys.push_back({{"parallel.tp", degree, by_default("1"), "tensor parallel ranks"},
                  [](R& r, const Parsed& v) { r.parallel.tp = v.integer; }});
  keys.push_back(
      {{"parallel.sp", boolean(), by_default("false"), "sequence parallelism on the TP group"},
       [](R& r, const Parsed& v) { r.parallel.sp = v.boolean; }});
  keys.push_back({{"parallel.cp", degree, by_default("1"), "context parallel ranks"},
                  [](R& r, const Parsed& v) { r.parallel.cp = v.integer; }});
  keys.push_back(
      {{"parallel.cp_comm", choice({"p2p", "all_gather", "a2a", "a2a+p2p"}), by_default("\"p2p\""),
        "how CP ranks exchange keys and values"},
       [](R& r, const Parsed& v) { r.parallel.cp_comm = static_cast<CpComm>(v.choice); }});
  keys.push_back({{"parallel.cp_balanced", boolean(), by_default("true"),
                   "each CP rank an early and a late chunk of the sequence, for equal causal work"},
                  [](R& r, const Parsed& v) { r.parallel.cp_balanced = v.boolean; }});
  keys.push_back({{"parallel.cp_a2a", degree, derived("CP ranks of a node, as heads allow"),
                   "neighbouring CP ranks that exchange heads under a2a+p2p; rings join them"},
                  [](R& r, const Parsed& v) { r.parallel.cp_a2a = v.integer; }});
  keys.push_back({{"parallel.pp", degree, by_default("1"), "pipeline stages"},
                  [](R& r, const Parsed& v) { r.parallel.pp = v.integer; }});
  keys.push_back({{"parallel.vpp", integer(1, kMaxLayers), by_default("1"),
                   "model chunks of a stage (virtual pipeline)"},
                  [](R& r, const Parsed& v) { r.parallel.vpp = v.integer; }});
  keys.push_back({{"parallel.ep", degree, by_default("1"), "expert parallel ranks"},
                  [](R& r, const Parsed& v) { r.parallel.ep = v.integer; }});
  keys.push_back({{"parallel.etp", degree, by_default("1"), "tensor parallel ranks of an expert"},
                  [](R& r, const Parsed& v) { r.parallel.etp = v.integer; }});
  keys.push_back({{"parallel.dp", degree, derived("gpus / (tp x cp x pp)"),
                   "data parallel ranks, checked when stated"},
                  [](R& r, const Parsed& v) { r.parallel.dp = v.integer; }});
}

void add_layout(Keys& keys) {
  keys.push_back(
      {{"parallel.zero", integer(0, 3), by_default("0"), "ZeRO stage, 1 = distributed optimizer"},
       [](R& r, const Parsed& v) { r.parallel.zero = v.integer; }});
  keys.push_back({{"parallel.zero_group", integer(1, kMaxGpus), derived("dp x cp"),
                   "ranks that share one copy of the sharded state"},
                  [](R& r, const Parsed& v) { r.parallel.zero_group = v.integer; }});
  keys.push_back({{"parallel.order", text(), by_default("\"tp-cp-ep-dp-pp\""),
                   "order of the axes in the rank number, fastest first"},
                  store_order});
  keys.push_back({{"parallel.layers_per_stage", list_of(integer(0, kMaxLayers)),
                   derived("evenly many"), "pp entries, or pp x vpp in chunk order"},
                  [](R& r, const Parsed& v) { r.parallel.layers_per_stage = v.integers; }});
  keys.push_back({{"parallel.count_embedding_as_layer", boolean(), by_default("false"),
                   "the first stage gets a layer less"},
                  [](R& r, const Parsed& v) { r.parallel.count_embedding_as_layer = v.boolean; }});
  keys.push_back({{"parallel.count_loss_as_layer", boolean(), by_default("false"),
                   "the last stage gets a layer less"},
                  [](R& r, const Parsed& v) { r.parallel.count_loss_as_layer = v.boolean; }});
  keys.push_back(
      {{"parallel.layout", text(), derived("none"), "Megatron's layout string, such as Et*2|t*2L"},
       [](R& r, const Parsed& v) { r.parallel.layout = v.text; }});
  keys.push_back(
      {{"parallel.kv_strategy", choice({"shared", "replicate", "gather"}), by_default("\"shared\""),
        "what holds when kv_heads is below tp"},
       [](R& r, const Parsed& v) { r.parallel.kv_strategy = static_cast<KvStrategy>(v.choice); }});
  keys.push_back(
      {{"parallel.vocab_cut", choice({"vocab", "hidden", "none"}), by_default("\"vocab\""),
        "which axis TP cuts of embedding and head"},
       [](R& r, const Parsed& v) { r.parallel.vocab_cut = static_cast<VocabCut>(v.choice); }});
}

void add_batch(Keys& keys) {
  keys.push_back({{"batch", object(), by_default("{}"), "sequences and tokens of a step"}, {}});
  keys.push_back({{"batch.micro", integer(1, kMaxBatch), by_default("1"),
                   "sequences of a micro batch on one rank"},
                  [](R& r, const Parsed& v) { r.batch.micro = v.integer; }});
  keys.push_back(
      {{"batch.global", integer(1, kMaxBatch), derived("micro x dp x pp"), "sequences of a step"},
       [](R& r, const Parsed& v) { r.batch.global = v.integer; }});
  keys.push_back(
      {{"batch.micro_batches", integer(1, kMaxBatch), derived("global / (micro x dp)"),
        "micro batches of a step on one rank: gradient accumulation"},
       [](R& r, const Parsed& v) { r.batch.micro_batches = v.integer; }});
  keys.push_back(
      {{"batch.sequence", integer(1, kMaxSequence), by_default("2048"), "tokens of a sequence"},
       [](R& r, const Parsed& v) { r.batch.sequence = v.integer; }});
}

void add_collectives(Keys& keys) {
  const auto entry = [](R& r, const Parsed& v) -> CollectiveChoice& {
    return r.collectives[parent_name(v.key)];
  };
  keys.push_back({{"collectives", object(), absent(), "how collectives run, by primitive"}, {}});
  for (const KnownName& primitive : known_collectives()) {
    const std::string at = "collectives." + primitive.name;
    keys.push_back({{at, object(), absent(), primitive.help}, {}});
    keys.push_back({{at + ".algorithm", choice(names(known_algorithms())), by_default("\"auto\""),
                     "the algorithm"},
                    [entry](R& r, const Parsed& v) { entry(r, v).algorithm = v.text; }});
    keys.push_back({{at + ".protocol", choice(names(known_protocols())), by_default("\"auto\""),
                     "the protocol"},
                    [entry](R& r, const Parsed& v) { entry(r, v).protocol = v.text; }});
    keys.push_back({{at + ".channels", integer(1, 1024), derived("chosen"), "parallel rings"},
                    [entry](R& r, const Parsed& v) { entry(r, v).channels = v.integer; }});
  }
}

std::vector<Key<Perturbation>> perturbation_keys() {
  using P = Perturbation;
  return {
      {{"gpu", integer(0, kMaxGpus), absent(), "physical slot of a slow GPU"},
       [](P& p, const Parsed& v) {
         p.kind = P::Kind::gpu;
         p.index = v.integer;
       }},
      {{"node", integer(0, kMaxGpus), absent(), "number of a slow node"},
       [](P& p, const Parsed& v) {
         p.kind = P::Kind::node;
         p.index = v.integer;
       }},
      {{"link", filled_text(), absent(), "name of a slow or dead link, such as node3.nic2"},
       [](P& p, const Parsed& v) {
         p.kind = P::Kind::link;
         p.link = v.text;
       }},
      {{"rail", integer(0, kMaxNodeGpus), absent(), "number of a slow rail"},
       [](P& p, const Parsed& v) {
         p.kind = P::Kind::rail;
         p.index = v.integer;
       }},
      {{"spine", integer(0, kMaxGpus), absent(), "number of a slow or dead spine switch"},
       [](P& p, const Parsed& v) {
         p.kind = P::Kind::spine;
         p.index = v.integer;
       }},
      {{"jitter", number_above(0, 1), absent(), "amplitude of jitter per collective"},
       [](P& p, const Parsed& v) {
         p.kind = P::Kind::jitter;
         p.factor = v.number;
       }},
      {{"speed", fraction(), absent(), "fraction of the speed of a gpu or node"},
       [](P& p, const Parsed& v) { p.factor = v.number; }},
      {{"bandwidth", fraction(), absent(), "fraction of the bandwidth of a link, rail or spine"},
       [](P& p, const Parsed& v) { p.factor = v.number; }},
      {{"dead", boolean(), absent(), "a link or spine that carries nothing"},
       [](P& p, const Parsed& v) { p.dead = v.boolean; }},
      {{"seed", integer(0, 1'000'000'000), absent(), "of the jitter"},
       [](P& p, const Parsed& v) { p.seed = v.integer; }}};
}

void add_rest(Keys& keys) {
  keys.push_back({{"moe", object(), by_default("{}"), "how tokens spread over experts"}, {}});
  keys.push_back({{"moe.imbalance", number(1, 100'000), by_default("1.0"),
                   "tokens of the busiest rank over the mean"},
                  [](R& r, const Parsed& v) { r.moe.imbalance = v.number; }});
  keys.push_back(
      {{"moe.dispatcher", choice({"alltoall", "deepep"}), by_default("\"alltoall\""),
        "how tokens reach experts: a copy per expert, or once per node and on by NVLink"},
       [](R& r, const Parsed& v) { r.moe.dispatcher = static_cast<Dispatcher>(v.choice); }});
  keys.push_back({{"moe.load_file", text(), derived("none"), "file of tokens per expert"},
                  [](R& r, const Parsed& v) { r.moe.load_file = v.text; }});
  add_collectives(keys);
  keys.push_back(
      {{"perturbations", list_of_objects(infos_of(perturbation_keys())), absent(),
        "what is slower than it should be"},
       [](R& r, const Parsed& v) { r.perturbations = read_list(v, perturbation_keys()); }});
  keys.push_back({{"plan", object(), absent(), "what the whole training takes"}, {}});
  keys.push_back({{"plan.tokens", quantity_above(Dimension::tokens, 0, 1e18), absent(),
                   "tokens of the training"},
                  [](R& r, const Parsed& v) { r.plan.tokens = v.integer; }});
  keys.push_back({{"plan.gpu_hour_cost", quantity(Dimension::money, 0, 1e6), absent(),
                   "price of one GPU for one hour"},
                  [](R& r, const Parsed& v) { r.plan.gpu_hour_cost = Dollars{v.number}; }});
}

void add_references(Keys& keys) {
  keys.push_back(
      {{"model", reference(Format::model), required(), "what is trained"},
       [](R& r, const Parsed& v) { r.model = read_model_value(*v.json, "model.", *v.log); }});
  keys.push_back(
      {{"cluster", reference(Format::cluster), required(), "what it is trained on"},
       [](R& r, const Parsed& v) { r.cluster = read_cluster_value(*v.json, "cluster.", *v.log); }});
  // Before `training`: a stack's training keys are defaults for the run's.
  keys.push_back(
      {{"stack", reference(Format::stack), by_default("\"megatron-core\""), "the software"},
       [](R& r, const Parsed& v) {
         r.stack = read_stack_value(*v.json, "stack.", r.training, *v.log);
       }});
  keys.push_back({{"gpus", integer(1, kMaxGpus), derived("nodes x gpus_used"), "ranks of the job"},
                  [](R& r, const Parsed& v) { r.gpus = v.integer; }});
  keys.push_back({{"nodes", integer(1, kMaxGpus), derived("what gpus fill"), "nodes of the job"},
                  [](R& r, const Parsed& v) { r.nodes = v.integer; }});
}

}  // namespace

const std::vector<Key<RunSpec>>& run_keys() {
  static const Keys table = [] {
    Keys keys;
    add_references(keys);
    add_degrees(keys);
    add_layout(keys);
    add_batch(keys);
    keys.push_back({{"training", object(), by_default("{}"), "how a step is trained"}, {}});
    embed(keys, "training.", training_keys(),
          [](RunSpec& r) -> TrainingSpec& { return r.training; });
    add_rest(keys);
    return keys;
  }();
  return table;
}

}  // namespace shardsim
