#include "workload/layer_passes.h"

#include "base/errors.h"
#include "base/ids.h"
#include "workload/recompute.h"

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

}  // namespace

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

void backward_layers(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                     BackwardPart part, const Beside& beside, PassBuilder& pass) {
  const std::vector<LayerGroup> groups = layer_groups(run.training, chunk.layers);
  for (std::size_t i = groups.size(); i-- > 0;) {
    backward_group(run, chains, chunk, groups[i], part, beside, pass);
  }
}

}  // namespace shardsim
