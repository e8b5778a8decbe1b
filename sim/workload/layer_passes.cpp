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

std::int32_t part_launches(const RunSpec& run, LayerKind kind, const Chain& layer,
                           BackwardPart part) {
  const std::int32_t all = backward_launches(run, kind);
  const std::int32_t weights = weight_launches(layer);
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

std::int32_t part_launches(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                           std::int32_t layer, BackwardPart part) {
  return part_launches(run, at(chunk.kinds, layer), chain_of_layer(chains, chunk, layer), part);
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

// Megatron recomputes the layer of a multi-token prediction, its embedding and head apart, under
// the uniform method only (multi_token_prediction.py, _checkpointed_forward).
bool recomputes_mtp(const TrainingSpec& training) {
  return training.recompute == Recompute::full &&
         training.recompute_method == RecomputeMethod::uniform;
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

void forward_mtp(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                 const Beside& beside, PassBuilder& pass) {
  const bool keeps = !recomputes_mtp(run.training);
  const Saves saves{.core = keeps && !recomputes_core(run.training), .other = keeps};
  for (std::int32_t i = 0; i < chunk.mtp; ++i) {
    const MtpChains& mtp = at(chains.mtp, i);
    const std::int32_t timer = begin_layer(run, static_cast<std::int32_t>(chunk.layers) + i,
                                           forward_launches(run, mtp_layer_kind(run.model)), pass);
    forward_chain(run, mtp.embedding, Category::compute, {}, beside.gather, pass);
    communicate_and_wait(run, chains.to_layers.forward, pass);
    forward_chain(run, mtp.layer, Category::compute, saves, beside.gather, pass);
    forward_chain(run, mtp.head, Category::compute, {}, beside.gather, pass);
    end_layer(timer, pass);
  }
}

void backward_mtp(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                  BackwardPart part, const Beside& beside, PassBuilder& pass) {
  const LayerKind kind = mtp_layer_kind(run.model);
  const bool inputs = part != BackwardPart::weights;
  const bool recomputes = recomputes_mtp(run.training) && inputs;
  const bool core = recomputes_core(run.training) && inputs;
  for (auto i = static_cast<std::int32_t>(chunk.mtp); i-- > 0;) {
    const MtpChains& mtp = at(chains.mtp, i);
    const std::int32_t again =
        (recomputes ? forward_launches(run, kind) : 0) + (core ? core_launches(run) : 0);
    const std::int32_t timer = begin_layer(run, static_cast<std::int32_t>(chunk.layers) + i,
                                           part_launches(run, kind, mtp.layer, part) + again, pass);
    backward_chain(run, mtp.head, part, false, beside.sync, pass);
    if (recomputes) {
      forward_chain(run, mtp.layer, Category::recompute, {.layer_input = false}, nullptr, pass);
    }
    backward_chain(run, mtp.layer, part, core, beside.sync, pass);
    if (inputs) {
      communicate_and_wait(run, chains.to_layers.backward, pass);
    }
    backward_chain(run, mtp.embedding, part, false, beside.sync, pass);
    end_layer(timer, pass);
  }
}

}  // namespace shardsim
