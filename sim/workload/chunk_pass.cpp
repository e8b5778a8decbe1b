#include "workload/chunk_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"
#include "base/text.h"
#include "workload/boundary.h"
#include "workload/chain_pass.h"
#include "workload/layer_passes.h"

namespace shardsim {
namespace {

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

std::string pass_name(const Chunk& chunk, const ChunkPass& what) {
  std::string text = what.kind == PassKind::forward      ? "forward"
                     : what.part == BackwardPart::both   ? "backward"
                     : what.part == BackwardPart::inputs ? "backward of inputs"
                                                         : "backward of weights";
  text += " of " + layers_text(chunk);
  text += chunk.first ? ", embedding" : "";
  text += chunk.last ? ", head" : "";
  text += chunk.mtp > 0 ? fmt::format(", {} MTP", chunk.mtp) : "";
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
  forward_mtp(run, chains, chunk, beside, pass);
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
  backward_mtp(run, chains, chunk, what.part, beside, pass);
  if (chunk.last) {
    units.enter(pass);
    backward_chain(run, chains.head, what.part, false, beside.sync, pass);
    units.leave(pass);
  }
  backward_layers(run, chains, chunk, what.part, beside, pass);
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
