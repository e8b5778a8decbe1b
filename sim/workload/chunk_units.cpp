#include "workload/chunk_units.h"

#include "base/errors.h"
#include "base/ids.h"
#include "workload/recompute.h"

namespace shardsim {
namespace {

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

}  // namespace

GradientUnits gradient_units(const ModelChains& chains, const Chunk& chunk) {
  GradientUnits units;
  const auto append = [&units](const Chain& chain) {
    for (std::size_t i = chain.size(); i-- > 0;) {
      units.push_back({chain[i].parameters, is_expert(chain[i].kind)});
    }
  };
  for (auto i = static_cast<std::int32_t>(chunk.mtp); i-- > 0;) {
    append(at(chains.mtp, i).head);
    append(at(chains.mtp, i).layer);
    append(at(chains.mtp, i).embedding);
  }
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
  SHARDSIM_CHECK(chunk.mtp == 0, "layers of multi-token prediction are no units of ZeRO 3");
  return {run, unit_parameters(chains, chunk), std::move(segments), sync};
}

}  // namespace shardsim
