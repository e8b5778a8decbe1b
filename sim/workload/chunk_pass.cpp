#include "workload/chunk_pass.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "workload/boundary.h"
#include "workload/chain_pass.h"
#include "workload/recompute.h"
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
// layer pass, for they follow each other.
void backward_group(const RunSpec& run, const ModelChains& chains, const LayerGroup& group,
                    const Beside& beside, PassBuilder& pass) {
  std::int32_t timer = -1;
  for (std::int32_t i = 0; group.checkpointed && i < group.count; ++i) {
    const bool turns = i + 1 == group.count;
    timer = begin_layer(group.first + i,
                        forward_launches(run) + (turns ? backward_launches(run) : 0), pass);
    beside.units.enter(pass);
    forward_chain(run, chains.layer, Category::recompute, {.layer_input = i > 0}, nullptr, pass);
    beside.units.leave(pass);
    if (!turns) {
      end_layer(timer, pass);
    }
  }
  const bool core = recomputes_core(run.training);
  for (std::int32_t i = group.count - 1; i >= 0; --i) {
    if (!group.checkpointed || i + 1 < group.count) {
      timer = begin_layer(group.first + i, backward_launches(run) + (core ? core_launches(run) : 0),
                          pass);
    }
    beside.units.enter(pass);
    backward_chain(run, chains.layer, core, beside.sync, pass);
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
std::vector<UnitSegment> backward_segments(const RunSpec& run, const Chunk& chunk) {
  std::vector<UnitSegment> segments;
  if (chunk.last) {
    segments.push_back(head_segment(run, chunk, true));
  }
  const std::vector<LayerGroup> groups = layer_groups(run.training, chunk.layers);
  for (std::size_t g = groups.size(); g-- > 0;) {
    for (std::int32_t i = 0; groups[g].checkpointed && i < groups[g].count; ++i) {
      segments.push_back(layer_segment(groups[g].first + i, false));
    }
    for (std::int32_t i = groups[g].count - 1; i >= 0; --i) {
      segments.push_back(layer_segment(groups[g].first + i, true));
    }
  }
  if (chunk.first) {
    segments.push_back({.units = {0}, .gradients = true});
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

ModelChains make_chains(const RunSpec& run) {
  ModelChains chains{embedding_chain(run), layer_chain(run), head_chain(run), {}};
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

std::string pass_name(PassKind kind, const Chunk& chunk, PassSync sync) {
  const bool forward = kind == PassKind::forward;
  std::string text = fmt::format("{} of {} layers", forward ? "forward" : "backward", chunk.layers);
  text += chunk.first ? ", embedding" : "";
  text += chunk.last ? ", head" : "";
  text += sync.gathers ? ", parameters gathered" : "";
  text += sync.releases ? ", dropped" : "";
  // Buckets differ between the first chunk and others, which the embedding tells.
  text += sync.reduces ? ", gradients reduced" : "";
  return text;
}

PassTemplate forward_pass(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                          PassSync sync, ProgramTables& tables) {
  PassBuilder pass(tables, pass_name(PassKind::forward, chunk, sync), PassKind::forward);
  const Buckets buckets =
      fill_buckets(gradient_units(chains, chunk), bucket_limit(run, chunk.first));
  std::optional<ParameterGather> gathers;
  if (sync.gathers && !shards_weights(run)) {
    gathers.emplace(run, buckets, pass);
  }
  ShardedUnits units = sharded_units(run, chains, chunk, forward_segments(run, chunk), sync);
  const Beside beside{.gather = gathers ? &*gathers : nullptr, .units = units};
  units.begin(pass);
  begin_pass(run, Direction::forward, !chunk.first, pass);
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
  end_pass(run, Direction::forward, !chunk.last, pass);
  return pass.finish();
}

PassTemplate backward_pass(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                           PassSync sync, ProgramTables& tables) {
  PassBuilder pass(tables, pass_name(PassKind::backward, chunk, sync), PassKind::backward);
  const Buckets buckets =
      fill_buckets(gradient_units(chains, chunk), bucket_limit(run, chunk.first));
  GradientSync reductions(run, buckets);
  ShardedUnits units = sharded_units(run, chains, chunk, backward_segments(run, chunk), sync);
  const Beside beside{.sync = sync.reduces && !shards_weights(run) ? &reductions : nullptr,
                      .units = units};
  units.begin(pass);
  begin_pass(run, Direction::backward, !chunk.last, pass);
  if (chunk.last) {
    units.enter(pass);
    backward_chain(run, chains.head, false, beside.sync, pass);
    units.leave(pass);
  }
  const std::vector<LayerGroup> groups = layer_groups(run.training, chunk.layers);
  for (std::size_t i = groups.size(); i-- > 0;) {
    backward_group(run, chains, groups[i], beside, pass);
  }
  if (chunk.first) {
    units.enter(pass);
    communicate_and_wait(run, chains.to_layers.backward, pass);
    backward_chain(run, chains.embedding, false, beside.sync, pass);
    units.leave(pass);
  }
  if (beside.sync != nullptr) {
    beside.sync->done(pass);
  }
  end_pass(run, Direction::backward, !chunk.first, pass);
  return pass.finish();
}

}  // namespace shardsim
