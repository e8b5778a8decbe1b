#include "workload/stages.h"

#include <numeric>

#include "base/errors.h"
#include "base/ids.h"
#include "spec/layout_string.h"

namespace shardsim {
namespace {

std::int64_t counted_layers(const RunSpec& run) {
  return run.model.layers + (run.parallel.count_embedding_as_layer ? 1 : 0) +
         (run.parallel.count_loss_as_layer ? 1 : 0);
}

std::vector<std::int64_t> placed_layers(const RunSpec& run) {
  const ParallelSpec& p = run.parallel;
  const std::int64_t chunks = p.pp * p.vpp;
  if (!p.layers_per_stage.empty()) {
    std::vector<std::int64_t> result = p.layers_per_stage;
    if (count(result) != chunks) {
      SHARDSIM_CHECK(count(result) == p.pp, "layers are stated neither per stage nor per chunk");
      result.clear();
      for (std::int64_t i = 0; i < chunks; ++i) {
        result.push_back(at(p.layers_per_stage, i % p.pp) / p.vpp);
      }
    }
    return result;
  }
  if (!p.layout.empty()) {
    std::vector<std::int64_t> result;
    for (const LayoutChunk& chunk : parse_layout(p.layout).chunks) {
      result.push_back(chunk.layers);
    }
    return result;
  }
  std::vector<std::int64_t> result(static_cast<std::size_t>(chunks), counted_layers(run) / chunks);
  result.front() -= p.count_embedding_as_layer ? 1 : 0;
  result.back() -= p.count_loss_as_layer ? 1 : 0;
  return result;
}

// In model chunk order.
std::vector<std::int64_t> model_chunk_layers(const RunSpec& run) {
  std::vector<std::int64_t> layers = placed_layers(run);
  SHARDSIM_CHECK(
      count(layers) == run.parallel.pp * run.parallel.vpp &&
          std::accumulate(layers.begin(), layers.end(), std::int64_t{0}) == run.model.layers,
      "the layers do not divide into stages and chunks");
  return layers;
}

ChunkCounts by_stage(const RunSpec& run, const std::vector<std::int64_t>& by_model_chunk) {
  const std::int64_t stages = run.parallel.pp;
  ChunkCounts result(static_cast<std::size_t>(stages));
  for (std::int64_t i = 0; i < count(by_model_chunk); ++i) {
    at(result, i % stages).push_back(at(by_model_chunk, i));
  }
  return result;
}

}  // namespace

ChunkCounts layers_of_chunks(const RunSpec& run) { return by_stage(run, model_chunk_layers(run)); }

ChunkCounts first_layers_of_chunks(const RunSpec& run) {
  std::vector<std::int64_t> firsts;
  std::int64_t next = 0;
  for (const std::int64_t layers : model_chunk_layers(run)) {
    firsts.push_back(next);
    next += layers;
  }
  return by_stage(run, firsts);
}

}  // namespace shardsim
