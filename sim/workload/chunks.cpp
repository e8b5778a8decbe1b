#include "workload/chunks.h"

#include "base/ids.h"
#include "workload/schedule.h"
#include "workload/stages.h"

namespace shardsim {
namespace {

bool bidirectional(const RunSpec& run) {
  return run.parallel.pp > 1 && find_schedule(run.training.schedule).bidirectional;
}

void drop_weights(Chain& chain) {
  for (Operator& op : chain) {
    op.parameters = 0;
  }
}

std::vector<MtpChains> mtp_chains(const RunSpec& run, const RankVariant& variant) {
  std::vector<MtpChains> result;
  for (std::int64_t i = 0; i < run.model.mtp_layers; ++i) {
    MtpChains mtp{embedding_chain(run), mtp_chain(run, variant), head_chain(run)};
    if (i > 0 || !copies_embedding(run)) {
      drop_weights(mtp.embedding);
    }
    for (Operator& op : mtp.head) {
      op.parameters = op.kind == OperatorKind::head ? 0 : op.parameters;
    }
    result.push_back(std::move(mtp));
  }
  return result;
}

}  // namespace

// Without tied embeddings, whose last stage has the table anyway; a bidirectional pipeline's has it
// for the part that begins there.
bool copies_embedding(const RunSpec& run) {
  return run.model.mtp_layers > 0 && run.parallel.pp > 1 && !run.model.tied_embeddings &&
         !bidirectional(run);
}

ModelChains make_chains(const RunSpec& run, const RankVariant& variant) {
  ModelChains chains{.embedding = embedding_chain(run),
                     .dense = layer_chain(run, LayerKind::dense, variant),
                     .moe = run.model.moe ? layer_chain(run, LayerKind::moe, variant) : Chain{},
                     .head = head_chain(run),
                     .mtp = mtp_chains(run, variant),
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
  result.back().back().mtp = run.model.mtp_layers;
  if (bidirectional(run)) {
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

}  // namespace shardsim
