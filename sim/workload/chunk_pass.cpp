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

void forward_layers(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                    ParameterGather* gather, PassBuilder& pass) {
  const bool keep_core = !recomputes_core(run.training);
  for (const LayerGroup& group : layer_groups(run.training, chunk.layers)) {
    for (std::int32_t i = 0; i < group.count; ++i) {
      const Saves saves{.layer_input = !group.checkpointed || i == 0,
                        .core = keep_core && !group.checkpointed,
                        .other = !group.checkpointed};
      const std::int32_t timer = begin_layer(group.first + i, forward_launches(run), pass);
      forward_chain(run, chains.layer, Category::compute, saves, gather, pass);
      end_layer(timer, pass);
    }
  }
}

// A checkpointed group: its layers forward again, then backward. The last one's two passes are one
// layer pass, for they follow each other.
void backward_group(const RunSpec& run, const ModelChains& chains, const LayerGroup& group,
                    GradientSync* sync, PassBuilder& pass) {
  std::int32_t timer = -1;
  for (std::int32_t i = 0; group.checkpointed && i < group.count; ++i) {
    const bool turns = i + 1 == group.count;
    timer = begin_layer(group.first + i,
                        forward_launches(run) + (turns ? backward_launches(run) : 0), pass);
    forward_chain(run, chains.layer, Category::recompute, {.layer_input = i > 0}, nullptr, pass);
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
    backward_chain(run, chains.layer, core, sync, pass);
    end_layer(timer, pass);
  }
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

std::string pass_name(PassKind kind, const Chunk& chunk, bool synchronised) {
  const bool forward = kind == PassKind::forward;
  std::string text = fmt::format("{} of {} layers", forward ? "forward" : "backward", chunk.layers);
  text += chunk.first ? ", embedding" : "";
  text += chunk.last ? ", head" : "";
  if (synchronised) {
    // Buckets differ between the first chunk and others, which the embedding tells.
    text += forward ? ", parameters gathered" : ", gradients reduced";
  }
  return text;
}

PassTemplate forward_pass(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                          bool gathered, ProgramTables& tables) {
  PassBuilder pass(tables, pass_name(PassKind::forward, chunk, gathered), PassKind::forward);
  const Buckets buckets =
      fill_buckets(gradient_units(chains, chunk), bucket_limit(run, chunk.stage, chunk.chunk));
  std::optional<ParameterGather> gathers;
  if (gathered) {
    gathers.emplace(run, buckets, pass);
  }
  ParameterGather* gather = gathers ? &*gathers : nullptr;
  begin_pass(run, Direction::forward, !chunk.first, pass);
  if (chunk.first) {
    forward_chain(run, chains.embedding, Category::compute, {}, gather, pass);
    communicate_and_wait(run, chains.to_layers.forward, pass);
  }
  forward_layers(run, chains, chunk, gather, pass);
  if (chunk.last) {
    forward_chain(run, chains.head, Category::compute, {}, gather, pass);
  }
  end_pass(run, Direction::forward, !chunk.last, pass);
  return pass.finish();
}

PassTemplate backward_pass(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                           bool reduced, ProgramTables& tables) {
  PassBuilder pass(tables, pass_name(PassKind::backward, chunk, reduced), PassKind::backward);
  const Buckets buckets =
      fill_buckets(gradient_units(chains, chunk), bucket_limit(run, chunk.stage, chunk.chunk));
  GradientSync syncs(run, buckets);
  GradientSync* sync = reduced ? &syncs : nullptr;
  begin_pass(run, Direction::backward, !chunk.last, pass);
  if (chunk.last) {
    backward_chain(run, chains.head, false, sync, pass);
  }
  const std::vector<LayerGroup> groups = layer_groups(run.training, chunk.layers);
  for (std::size_t i = groups.size(); i-- > 0;) {
    backward_group(run, chains, groups[i], sync, pass);
  }
  if (chunk.first) {
    communicate_and_wait(run, chains.to_layers.backward, pass);
    backward_chain(run, chains.embedding, false, sync, pass);
  }
  end_pass(run, Direction::backward, !chunk.first, pass);
  return pass.finish();
}

}  // namespace shardsim
