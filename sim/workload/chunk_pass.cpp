#include "workload/chunk_pass.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "workload/boundary.h"
#include "workload/chain_pass.h"
#include "workload/recompute.h"
#include "workload/schedule.h"
#include "workload/stages.h"

namespace shardsim {
namespace {

std::int32_t begin_layer(std::int32_t layer, std::int32_t launches, PassBuilder& pass) {
  pass.set_layer(layer);
  return pass.host(Stream::host, "launches", launches,
                   static_cast<StreamMask>(mask(Stream::compute) | mask(Stream::tp)));
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
std::int32_t weight_launches(const ModelChains& chains) {
  std::int32_t launches = 0;
  for (const Operator& op : chains.layer) {
    launches += splits(op) ? count(op.kernels.wgrad) : 0;
  }
  return launches;
}

std::int32_t part_launches(const RunSpec& run, const ModelChains& chains, BackwardPart part) {
  switch (part) {
    case BackwardPart::both:
      return backward_launches(run);
    case BackwardPart::inputs:
      return backward_launches(run) - weight_launches(chains);
    case BackwardPart::weights:
      return weight_launches(chains);
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
      const std::int32_t timer = begin_layer(group.first + i, forward_launches(run), pass);
      beside.units.enter(pass);
      forward_chain(run, chains.layer, Category::compute, saves, beside.gather, pass);
      beside.units.leave(pass);
      end_layer(timer, pass);
    }
  }
}

// A checkpointed group: its layers forward again, then backward. The last one's two passes are one
// layer pass, for they follow each other. Weight gradients alone recompute nothing.
void backward_group(const RunSpec& run, const ModelChains& chains, const LayerGroup& group,
                    BackwardPart part, const Beside& beside, PassBuilder& pass) {
  const bool recomputes = group.checkpointed && part != BackwardPart::weights;
  const std::int32_t launches = part_launches(run, chains, part);
  std::int32_t timer = -1;
  for (std::int32_t i = 0; recomputes && i < group.count; ++i) {
    const bool turns = i + 1 == group.count;
    timer = begin_layer(group.first + i, forward_launches(run) + (turns ? launches : 0), pass);
    beside.units.enter(pass);
    forward_chain(run, chains.layer, Category::recompute, {.layer_input = i > 0}, nullptr, pass);
    beside.units.leave(pass);
    if (!turns) {
      end_layer(timer, pass);
    }
  }
  const bool core = recomputes_core(run.training) && part != BackwardPart::weights;
  for (std::int32_t i = group.count - 1; i >= 0; --i) {
    if (!recomputes || i + 1 < group.count) {
      timer = begin_layer(group.first + i, launches + (core ? core_launches(run) : 0), pass);
    }
    beside.units.enter(pass);
    backward_chain(run, chains.layer, part, core, beside.sync, pass);
    beside.units.leave(pass);
    end_layer(timer, pass);
  }
}

// Units of a chunk under ZeRO 3: embedding, layers, head. Tied embeddings on one stage are one
// weight, which the head uses too.
std::vector<std::int64_t> unit_parameters(const ModelChains& chains, const Chunk& chunk) {
  std::vector<std::int64_t> units(static_cast<std::size_t>(chunk.layers + 2), 0);
  units.front() = chunk.first ? chain_parameters(chains.embedding) : 0;
  for (std::int64_t layer = 1; layer <= chunk.layers; ++layer) {
    at(units, layer) = chain_parameters(chains.layer);
  }
  units.back() = chunk.last ? chain_parameters(chains.head) : 0;
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

}  // namespace

ModelChains make_chains(const RunSpec& run, std::int32_t attention_kind) {
  ModelChains chains{embedding_chain(run), layer_chain(run, attention_kind), head_chain(run), {}};
  chains.to_layers =
      transition_between(run, chains.embedding.back().kind, chains.layer.front().kind);
  return chains;
}

std::vector<std::vector<Chunk>> make_chunks(const RunSpec& run) {
  std::vector<std::vector<Chunk>> result;
  for (const std::vector<std::int64_t>& layers : layers_of_chunks(run)) {
    std::vector<Chunk> chunks;
    chunks.reserve(layers.size());
    for (std::int32_t chunk = 0; chunk < count(layers); ++chunk) {
      chunks.push_back({.stage = count(result),
                        .chunk = chunk,
                        .layers = at(layers, chunk),
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
      units.push_back(chain[i].parameters);
    }
  };
  if (chunk.last) {
    append(chains.head);
  }
  for (std::int64_t layer = 0; layer < chunk.layers; ++layer) {
    append(chains.layer);
  }
  if (chunk.first) {
    append(chains.embedding);
  }
  return units;
}

std::int64_t chunk_parameters(const ModelChains& chains, const Chunk& chunk) {
  std::int64_t sum = 0;
  for (const std::int64_t parameters : gradient_units(chains, chunk)) {
    sum = checked_add(sum, parameters);
  }
  return sum;
}

std::string pass_name(const Chunk& chunk, const ChunkPass& what) {
  std::string text = what.kind == PassKind::forward      ? "forward"
                     : what.part == BackwardPart::both   ? "backward"
                     : what.part == BackwardPart::inputs ? "backward of inputs"
                                                         : "backward of weights";
  text += fmt::format(" of {} layers", chunk.layers);
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
    backward_group(run, chains, groups[i], what.part, beside, pass);
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
