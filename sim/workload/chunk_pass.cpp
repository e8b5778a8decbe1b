#include "workload/chunk_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/text.h"
#include "workload/boundary.h"
#include "workload/chain_pass.h"
#include "workload/recompute.h"
#include "workload/schedule.h"
#include "workload/stages.h"

namespace shardsim {
namespace {

std::int32_t begin_layer(const RunSpec& run, std::int32_t layer, std::int32_t launches,
                         PassBuilder& pass) {
  pass.set_layer(layer);
  return pass.host(Stream::host, "launches", launches,
                   static_cast<StreamMask>(mask(Stream::compute) | layer_streams(run)));
}

void end_layer(std::int32_t timer, PassBuilder& pass) {
  pass.wait(timer);
  pass.set_layer(-1);
}

// What runs beside a pass for data parallelism; null: nothing.
struct Beside {
  ParameterGather* gather = nullptr;
  GradientSync* sync = nullptr;
  ShardedUnits& units;
};

// Kernels of the weight gradients of a layer, each with its launch: what a split backward launches
// later.
std::int32_t weight_launches(const Chain& layer) {
  std::int32_t launches = 0;
  for (const Operator& op : layer) {
    launches += splits(op) ? count(op.kernels.wgrad) : 0;
  }
  return launches;
}

std::int32_t part_launches(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                           std::int32_t layer, BackwardPart part) {
  const std::int32_t all = backward_launches(run, at(chunk.kinds, layer));
  const std::int32_t weights = weight_launches(chain_of_layer(chains, chunk, layer));
  switch (part) {
    case BackwardPart::both:
      return all;
    case BackwardPart::inputs:
      return all - weights;
    case BackwardPart::weights:
      return weights;
  }
  SHARDSIM_CHECK(false, "unknown part of backward");
}

void forward_layers(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                    const Beside& beside, PassBuilder& pass) {
  const bool keep_core = !recomputes_core(run.training);
  for (const LayerGroup& group : layer_groups(run.training, chunk.layers)) {
    for (std::int32_t i = 0; i < group.count; ++i) {
      const Saves saves{.layer_input = !group.checkpointed || i == 0,
                        .core = keep_core && !group.checkpointed,
                        .other = !group.checkpointed};
      const std::int32_t layer = group.first + i;
      const std::int32_t timer =
          begin_layer(run, layer, forward_launches(run, at(chunk.kinds, layer)), pass);
      beside.units.enter(pass);
      forward_chain(run, chain_of_layer(chains, chunk, layer), Category::compute, saves,
                    beside.gather, pass);
      beside.units.leave(pass);
      end_layer(timer, pass);
    }
  }
}

// A checkpointed group: its layers forward again, then backward. The last one's two passes are one
// layer pass, for they follow each other. Weight gradients alone recompute nothing.
void backward_group(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                    const LayerGroup& group, BackwardPart part, const Beside& beside,
                    PassBuilder& pass) {
  const bool recomputes = group.checkpointed && part != BackwardPart::weights;
  std::int32_t timer = -1;
  for (std::int32_t i = 0; recomputes && i < group.count; ++i) {
    const bool turns = i + 1 == group.count;
    const std::int32_t layer = group.first + i;
    timer = begin_layer(run, layer,
                        forward_launches(run, at(chunk.kinds, layer)) +
                            (turns ? part_launches(run, chains, chunk, layer, part) : 0),
                        pass);
    beside.units.enter(pass);
    forward_chain(run, chain_of_layer(chains, chunk, layer), Category::recompute,
                  {.layer_input = i > 0}, nullptr, pass);
    beside.units.leave(pass);
    if (!turns) {
      end_layer(timer, pass);
    }
  }
  const bool core = recomputes_core(run.training) && part != BackwardPart::weights;
  for (std::int32_t i = group.count - 1; i >= 0; --i) {
    const std::int32_t layer = group.first + i;
    if (!recomputes || i + 1 < group.count) {
      timer = begin_layer(
          run, layer,
          part_launches(run, chains, chunk, layer, part) + (core ? core_launches(run) : 0), pass);
    }
    beside.units.enter(pass);
    backward_chain(run, chain_of_layer(chains, chunk, layer), part, core, beside.sync, pass);
    beside.units.leave(pass);
    end_layer(timer, pass);
  }
}

LocalParameters local_parameters(const Chain& chain) {
  LocalParameters sum;
  for (const Operator& op : chain) {
    std::int64_t& part = is_expert(op.kind) ? sum.expert : sum.dense;
    part = checked_add(part, op.parameters);
  }
  return sum;
}

// Units of a chunk under ZeRO 3: embedding, layers, head. Tied embeddings on one stage are one
// weight, which the head uses too.
std::vector<LocalParameters> unit_parameters(const ModelChains& chains, const Chunk& chunk) {
  std::vector<LocalParameters> units(static_cast<std::size_t>(chunk.layers + 2));
  if (chunk.first) {
    units.front() = local_parameters(chains.embedding);
  }
  for (std::int32_t layer = 0; layer < chunk.layers; ++layer) {
    at(units, layer + 1) = local_parameters(chain_of_layer(chains, chunk, layer));
  }
  if (chunk.last) {
    units.back() = local_parameters(chains.head);
  }
  return units;
}

UnitSegment layer_segment(std::int32_t layer, bool gradients) {
  return {.units = {layer + 1}, .gradients = gradients};
}

UnitSegment head_segment(const RunSpec& run, const Chunk& chunk, bool gradients) {
  const auto head = static_cast<std::int32_t>(chunk.layers + 1);
  const bool shared = run.model.tied_embeddings && run.parallel.pp == 1;
  return {.units = shared ? std::vector{0, head} : std::vector{head}, .gradients = gradients};
}

std::vector<UnitSegment> forward_segments(const RunSpec& run, const Chunk& chunk) {
  std::vector<UnitSegment> segments;
  if (chunk.first) {
    segments.push_back({.units = {0}});
  }
  for (std::int32_t layer = 0; layer < chunk.layers; ++layer) {
    segments.push_back(layer_segment(layer, false));
  }
  if (chunk.last) {
    segments.push_back(head_segment(run, chunk, false));
  }
  return segments;
}

// As backward_pass walks: see backward_group.
std::vector<UnitSegment> backward_segments(const RunSpec& run, const Chunk& chunk,
                                           BackwardPart part) {
  const bool gradients = part != BackwardPart::inputs;
  std::vector<UnitSegment> segments;
  if (chunk.last) {
    segments.push_back(head_segment(run, chunk, gradients));
  }
  const std::vector<LayerGroup> groups = layer_groups(run.training, chunk.layers);
  for (std::size_t g = groups.size(); g-- > 0;) {
    const bool recomputes = groups[g].checkpointed && part != BackwardPart::weights;
    for (std::int32_t i = 0; recomputes && i < groups[g].count; ++i) {
      segments.push_back(layer_segment(groups[g].first + i, false));
    }
    for (std::int32_t i = groups[g].count - 1; i >= 0; --i) {
      segments.push_back(layer_segment(groups[g].first + i, gradients));
    }
  }
  if (chunk.first) {
    segments.push_back({.units = {0}, .gradients = gradients});
  }
  return segments;
}

ShardedUnits sharded_units(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                           std::vector<UnitSegment> segments, PassSync sync) {
  if (!shards_weights(run)) {
    return {run, {}, {}, {}};
  }
  return {run, unit_parameters(chains, chunk), std::move(segments), sync};
}

// "4 layers", "3 MoE layers", "1 dense, 3 MoE layers": runs of one kind in layer order.
std::string layers_text(const Chunk& chunk) {
  const bool any_moe = std::ranges::count(chunk.kinds, LayerKind::moe) > 0;
  std::vector<std::string> runs;
  for (std::size_t i = 0; any_moe && i < chunk.kinds.size();) {
    const LayerKind kind = chunk.kinds[i];
    std::int32_t same = 0;
    for (; i < chunk.kinds.size() && chunk.kinds[i] == kind; ++i) {
      ++same;
    }
    runs.push_back(fmt::format("{} {}", same, kind == LayerKind::moe ? "MoE" : "dense"));
  }
  return fmt::format("{} layers", any_moe ? join(runs, ", ") : std::to_string(chunk.layers));
}

}  // namespace

ModelChains make_chains(const RunSpec& run, const RankVariant& variant) {
  ModelChains chains{.embedding = embedding_chain(run),
                     .dense = layer_chain(run, LayerKind::dense, variant),
                     .moe = run.model.moe ? layer_chain(run, LayerKind::moe, variant) : Chain{},
                     .head = head_chain(run),
                     .to_layers = {}};
  chains.to_layers =
      transition_between(run, chains.embedding.back().kind, chains.dense.front().kind);
  return chains;
}

const Chain& chain_of_layer(const ModelChains& chains, const Chunk& chunk, std::int32_t layer) {
  return at(chunk.kinds, layer) == LayerKind::moe ? chains.moe : chains.dense;
}

std::vector<std::vector<Chunk>> make_chunks(const RunSpec& run) {
  std::vector<std::vector<Chunk>> result;
  const ChunkCounts firsts = first_layers_of_chunks(run);
  for (const std::vector<std::int64_t>& layers : layers_of_chunks(run)) {
    std::vector<Chunk> chunks;
    chunks.reserve(layers.size());
    for (std::int32_t chunk = 0; chunk < count(layers); ++chunk) {
      std::vector<LayerKind> kinds;
      for (std::int64_t i = 0; i < at(layers, chunk); ++i) {
        kinds.push_back(layer_kind(run.model, at(at(firsts, count(result)), chunk) + i));
      }
      chunks.push_back({.stage = count(result),
                        .chunk = chunk,
                        .layers = at(layers, chunk),
                        .kinds = std::move(kinds),
                        .first = result.empty() && chunk == 0});
    }
    result.push_back(std::move(chunks));
  }
  result.back().back().last = true;
  if (run.parallel.pp > 1 && find_schedule(run.training.schedule).bidirectional) {
    const std::vector<std::vector<Chunk>> parts = result;
    for (std::size_t stage = 0; stage < parts.size(); ++stage) {
      Chunk mirrored = parts[parts.size() - 1 - stage].front();
      mirrored.stage = static_cast<std::int32_t>(stage);
      mirrored.chunk = 1;
      mirrored.mirrored = true;
      result[stage].push_back(mirrored);
    }
  }
  return result;
}

GradientUnits gradient_units(const ModelChains& chains, const Chunk& chunk) {
  GradientUnits units;
  const auto append = [&units](const Chain& chain) {
    for (std::size_t i = chain.size(); i-- > 0;) {
      units.push_back({chain[i].parameters, is_expert(chain[i].kind)});
    }
  };
  if (chunk.last) {
    append(chains.head);
  }
  for (auto layer = static_cast<std::int32_t>(chunk.layers); layer-- > 0;) {
    append(chain_of_layer(chains, chunk, layer));
  }
  if (chunk.first) {
    append(chains.embedding);
  }
  return units;
}

LocalParameters chunk_parameters(const ModelChains& chains, const Chunk& chunk) {
  LocalParameters sum;
  for (const GradientUnit& unit : gradient_units(chains, chunk)) {
    std::int64_t& part = unit.expert ? sum.expert : sum.dense;
    part = checked_add(part, unit.parameters);
  }
  return sum;
}

LocalParameters stage_parameters(const ModelChains& chains, const std::vector<Chunk>& chunks) {
  LocalParameters sum;
  for (const Chunk& chunk : chunks) {
    const LocalParameters here = chunk_parameters(chains, chunk);
    sum.dense = checked_add(sum.dense, here.dense);
    sum.expert = checked_add(sum.expert, here.expert);
  }
  return sum;
}

std::string pass_name(const Chunk& chunk, const ChunkPass& what) {
  std::string text = what.kind == PassKind::forward      ? "forward"
                     : what.part == BackwardPart::both   ? "backward"
                     : what.part == BackwardPart::inputs ? "backward of inputs"
                                                         : "backward of weights";
  text += " of " + layers_text(chunk);
  text += chunk.first ? ", embedding" : "";
  text += chunk.last ? ", head" : "";
  text += chunk.mirrored && what.kind != PassKind::weight ? ", mirrored" : "";
  text += what.sync.gathers ? ", parameters gathered" : "";
  text += what.sync.releases ? ", dropped" : "";
  // Buckets differ between the first chunk and others, which the embedding tells.
  text += what.sync.reduces ? ", gradients reduced" : "";
  return text;
}

namespace {

PassTemplate forward_pass(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                          const ChunkPass& what, PassBuilder pass) {
  const Buckets buckets =
      fill_buckets(gradient_units(chains, chunk), bucket_limit(run, chunk.first));
  std::optional<ParameterGather> gathers;
  if (what.sync.gathers && !shards_weights(run)) {
    gathers.emplace(run, buckets, pass);
  }
  ShardedUnits units = sharded_units(run, chains, chunk, forward_segments(run, chunk), what.sync);
  const Beside beside{.gather = gathers ? &*gathers : nullptr, .units = units};
  const Boundary boundary{Direction::forward, chunk.mirrored};
  units.begin(pass);
  begin_pass(run, boundary, !chunk.first, pass);
  if (chunk.first) {
    units.enter(pass);
    forward_chain(run, chains.embedding, Category::compute, {}, beside.gather, pass);
    communicate_and_wait(run, chains.to_layers.forward, pass);
    units.leave(pass);
  }
  forward_layers(run, chains, chunk, beside, pass);
  if (chunk.last) {
    units.enter(pass);
    forward_chain(run, chains.head, Category::compute, {}, beside.gather, pass);
    units.leave(pass);
  }
  end_pass(run, boundary, !chunk.last, pass);
  return pass.finish();
}

// Backward, or one of its two parts: weight gradients alone receive and send nothing.
PassTemplate backward_pass(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                           const ChunkPass& what, PassBuilder pass) {
  const bool exchanges = what.part != BackwardPart::weights;
  const Buckets buckets =
      fill_buckets(gradient_units(chains, chunk), bucket_limit(run, chunk.first));
  GradientSync reductions(run, buckets);
  ShardedUnits units =
      sharded_units(run, chains, chunk, backward_segments(run, chunk, what.part), what.sync);
  const bool by_bucket = what.sync.reduces && !shards_weights(run);
  const Beside beside{.sync = by_bucket ? &reductions : nullptr, .units = units};
  const Boundary boundary{Direction::backward, chunk.mirrored};
  units.begin(pass);
  begin_pass(run, boundary, exchanges && !chunk.last, pass);
  if (chunk.last) {
    units.enter(pass);
    backward_chain(run, chains.head, what.part, false, beside.sync, pass);
    units.leave(pass);
  }
  const std::vector<LayerGroup> groups = layer_groups(run.training, chunk.layers);
  for (std::size_t i = groups.size(); i-- > 0;) {
    backward_group(run, chains, chunk, groups[i], what.part, beside, pass);
  }
  if (chunk.first) {
    units.enter(pass);
    if (exchanges) {
      communicate_and_wait(run, chains.to_layers.backward, pass);
    }
    backward_chain(run, chains.embedding, what.part, false, beside.sync, pass);
    units.leave(pass);
  }
  if (beside.sync != nullptr) {
    beside.sync->done(pass);
  }
  end_pass(run, boundary, exchanges && !chunk.first, pass);
  return pass.finish();
}

}  // namespace

PassTemplate chunk_pass(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                        const ChunkPass& what, ProgramTables& tables) {
  PassBuilder pass(tables, pass_name(chunk, what), what.kind);
  return what.kind == PassKind::forward ? forward_pass(run, chains, chunk, what, std::move(pass))
                                        : backward_pass(run, chains, chunk, what, std::move(pass));
}

}  // namespace shardsim
