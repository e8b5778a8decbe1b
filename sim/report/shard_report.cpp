#include "report/shard_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/errors.h"
#include "base/ids.h"
#include "report/words.h"
#include "sharding/derive.h"
#include "sharding/rank_grid.h"
#include "workload/exposure.h"

namespace shardsim {

bool ShardPrimitive::unusual() const {
  return usual && (message.value() < usual->least || message.value() > usual->most);
}

namespace {

constexpr std::array<Axis, kAxisCount> kAxes{Axis::tp, Axis::cp,  Axis::dp, Axis::pp,
                                             Axis::ep, Axis::etp, Axis::edp};

bool is_layer(const std::string& where) { return where.find("layer") != std::string::npos; }

// The dimension of the tensor that a placement cuts; KV heads are cut together with heads.
std::string cut_name(const Tensor& tensor, Placement placement) {
  if (placement.kind != Placement::Kind::shard) return "";
  Dim cut = placement.dim;
  const bool has = std::any_of(tensor.dims.begin(), tensor.dims.end(),
                               [cut](const SizedDim& dim) { return dim.dim == cut; });
  if (!has && cut == Dim::head) cut = Dim::kv_head;
  return std::string(name(cut));
}

ShardTensor tensor_row(const RunSpec& run, const Tensor& tensor, const std::string& where) {
  ShardTensor row{tensor.name,
                  where,
                  tensor.dims,
                  local_dims(run, tensor),
                  {},
                  copies(run, tensor),
                  local_bytes(run, tensor)};
  for (const Axis axis : kAxes) {
    if (axis_size(run.parallel, axis) > 1) {
      at(row.cut, axis) = cut_name(tensor, placement_of(run, tensor, axis));
    }
  }
  if (is_layer(where) && run.parallel.pp > 1) at(row.cut, Axis::pp) = name(Dim::layer);
  return row;
}

// ZeRO 3 cuts what is left flat, across tensors: a rank keeps a zero_group-th between uses. The
// local shape is that of the gathered weight.
void shard_flat(const RunSpec& run, ShardTensor& row) {
  const std::int64_t ranks = run.parallel.zero_group;
  if (run.parallel.zero < 3 || ranks == 1) return;
  at(row.cut, Axis::dp) = "flat";
  row.copies /= ranks;
  row.bytes = Bytes{(row.bytes.value() + ranks - 1) / ranks};
}

void add_weights(const RunSpec& run, const std::vector<OperatorKind>& kinds,
                 const std::string& where, std::vector<ShardTensor>& rows) {
  std::map<OperatorKind, int> seen;
  for (const OperatorKind kind : kinds) {
    ++seen[kind];
    for (const Tensor& tensor : operator_weights(run, kind)) {
      rows.push_back(tensor_row(run, tensor, where));
      shard_flat(run, rows.back());
      if (seen[kind] > 1) rows.back().tensor += fmt::format(" {}", seen[kind]);
    }
  }
}

void add_saved(const RunSpec& run, const std::vector<SavedTensor>& saved, const std::string& where,
               std::vector<ShardTensor>& rows) {
  std::map<std::string, int> seen;
  for (const SavedTensor& one : saved) {
    rows.push_back(tensor_row(run, one.tensor, where));
    const int times = ++seen[one.tensor.name];
    if (times > 1) rows.back().tensor += fmt::format(" {}", times);
  }
}

// Placements of producer and consumer: along tp, and along each axis on which they differ.
void describe(const RunSpec& run, OperatorKind from, OperatorKind to, Docking& docking) {
  std::vector<std::string> yields;
  std::vector<std::string> needs;
  for (const Axis axis : axes_between(from, to)) {
    if (axis_size(run.parallel, axis) == 1) continue;
    const Placement yielded = row_of(run.parallel, axis, from).yields;
    const Placement needed = row_of(run.parallel, axis, to).needs;
    if (axis == Axis::tp || yielded != needed) {
      const std::string prefix = axis == Axis::tp ? "" : std::string(name(axis)) + " ";
      yields.push_back(prefix + to_text(yielded));
      needs.push_back(prefix + to_text(needed));
    }
  }
  docking.yields = fmt::format("{}", fmt::join(yields, ", "));
  docking.needs = fmt::format("{}", fmt::join(needs, ", "));
}

void add_dockings(const RunSpec& run, const std::vector<OperatorKind>& kinds,
                  std::vector<Docking>& rows) {
  for (std::size_t i = 1; i < kinds.size(); ++i) {
    Docking row;
    row.from = name(kinds[i - 1]);
    row.to = name(kinds[i]);
    describe(run, kinds[i - 1], kinds[i], row);
    row.forward = forward_between(run.parallel, kinds[i - 1], kinds[i]).primitive;
    row.backward = backward_between(run.parallel, kinds[i - 1], kinds[i]).primitive;
    rows.push_back(std::move(row));
  }
}

// Message sizes that are usual in large training jobs, in decimal bytes.
std::optional<UsualBytes> usual_bytes(Category category) {
  constexpr std::int64_t kMega = 1'000'000;
  switch (category) {
    case Category::tp:
    case Category::sp:
    case Category::pp:
      return UsualBytes{10 * kMega, 100 * kMega};
    case Category::ep:
      return UsualBytes{kMega / 10, 60 * kMega};
    default:
      return std::nullopt;
  }
}

std::int64_t group_size(const RankGrid& grid, const Communication& c) {
  if (c.group == 0 || c.end_stages_only || c.mirrored_stages) return 2;
  if (c.strided > 0) return grid.group_size(c.group) / c.strided;
  return c.neighbours > 0 ? c.neighbours : grid.group_size(c.group);
}

ShardPrimitive primitive_row(const RankGrid& grid, const Communication& c,
                             const CommunicationCount& counted) {
  const bool between_stages = c.primitive == Primitive::send;
  ShardPrimitive row;
  row.axis = counted.category == Category::other ? group_name(c.group)
                                                 : std::string(name(counted.category));
  row.primitive = between_stages ? "send_recv" : std::string(name(c.primitive));
  row.trigger = c.trigger;
  row.stream = name(counted.stream);
  row.group_size = group_size(grid, c);
  row.message = c.bytes;
  row.usual = usual_bytes(counted.category);
  return row;
}

bool alike(const ShardPrimitive& a, const ShardPrimitive& b) {
  return a.axis == b.axis && a.primitive == b.primitive && a.trigger == b.trigger &&
         a.stream == b.stream && a.group_size == b.group_size && a.message == b.message;
}

// A message between stages is a row at its sender.
std::vector<ShardPrimitive> primitive_rows(const RunSpec& run, const Program& program) {
  const RankGrid grid(run.parallel);
  std::vector<ShardPrimitive> rows;
  for (const RankProgram& rank : program.programs) {
    for (const CommunicationCount& counted : count_communications(program, rank)) {
      const Communication& c = at(program.communications, counted.communication);
      if (c.primitive == Primitive::recv) continue;
      ShardPrimitive row = primitive_row(grid, c, counted);
      auto found = std::find_if(rows.begin(), rows.end(),
                                [&row](const ShardPrimitive& other) { return alike(row, other); });
      if (found == rows.end()) found = rows.insert(rows.end(), std::move(row));
      if (counted.count > found->count_per_step) {
        found->count_per_step = counted.count;
        found->exposed_count = counted.exposed;
      }
      if (found->stages.empty() || found->stages.back() != rank.stage) {
        found->stages.push_back(rank.stage);
      }
    }
  }
  const auto place = [](const ShardPrimitive& row) {
    constexpr std::array<std::string_view, 6> kOrder{"tp", "sp", "cp", "ep", "pp", "dp"};
    return std::find(kOrder.begin(), kOrder.end(), row.axis) - kOrder.begin();
  };
  std::stable_sort(
      rows.begin(), rows.end(),
      [&place](const ShardPrimitive& a, const ShardPrimitive& b) { return place(a) < place(b); });
  return rows;
}

std::string layer_word(LayerKind layer) { return layer == LayerKind::moe ? "MoE layer" : "layer"; }

std::vector<std::string> notes_of(const RunSpec& run) {
  const ParallelSpec& p = run.parallel;
  std::vector<std::string> notes;
  if (run.batch.micro == 1) {
    notes.push_back(
        "a micro batch of one rank is a single sequence: dp cannot cut it further, cp can cut its "
        "tokens");
  }
  if (p.sp && p.tp == 1) {
    notes.push_back(
        "sp shares the tokens outside the tensor parallel region among the ranks of a tp group; "
        "with tp 1 there is nobody to share with, so sp cuts nothing: use tp above 1, or cp");
  }
  if (!run.model.mla && run.model.kv_heads < p.tp) {
    notes.push_back(fmt::format(
        "{} KV heads are fewer than tp {}: under kv_strategy {} their weights are not cut to 1/{}",
        run.model.kv_heads, p.tp, word(p.kv_strategy), p.tp));
  }
  if (p.zero >= 1) {
    notes.push_back(fmt::format(
        "ZeRO {}: optimizer state{}{} cut flat, across tensors, over {} ranks", p.zero,
        p.zero >= 2 ? ", gradients" : "", p.zero >= 3 ? ", weights" : "", p.zero_group));
  }
  if (padded_vocab(run) != run.model.vocab) {
    notes.push_back(fmt::format("vocabulary {} padded to {}, a multiple of 128 x tp",
                                run.model.vocab, padded_vocab(run)));
  }
  return notes;
}

}  // namespace

ShardReport make_shard_report(const RunSpec& run, const Program& program) {
  ShardReport report;
  report.run = run;
  const auto add_chain = [&](const std::vector<OperatorKind>& kinds, const std::string& where) {
    add_weights(run, kinds, where, report.weights);
  };
  add_chain(embedding_operators(run.model), "embedding");
  for (const LayerKind layer : layer_kinds(run.model)) {
    add_chain(layer_operators(run.model, layer), layer_word(layer));
  }
  add_chain(head_operators(), "head");
  if (run.model.mtp_layers > 0) {
    add_chain(mtp_operators(run.model), "MTP layer");
  }
  add_saved(run, embedding_saved(run), "embedding", report.activations);
  for (const LayerKind layer : layer_kinds(run.model)) {
    add_saved(run, layer_saved(run, layer), layer_word(layer), report.activations);
  }
  add_saved(run, head_saved(run), "head", report.activations);
  if (run.model.mtp_layers > 0) {
    add_saved(run, mtp_saved(run), "MTP layer", report.activations);
  }
  std::vector<OperatorKind> all = embedding_operators(run.model);
  for (const LayerKind layer : layer_kinds(run.model)) {
    const std::vector<OperatorKind> kinds = layer_operators(run.model, layer);
    all.insert(all.end(), kinds.begin(), kinds.end());
  }
  const std::vector<OperatorKind> head = head_operators();
  all.insert(all.end(), head.begin(), head.end());
  add_dockings(run, all, report.dockings);
  report.primitives = primitive_rows(run, program);
  report.notes = notes_of(run);
  return report;
}

}  // namespace shardsim
