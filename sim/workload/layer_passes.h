// The layers of a model chunk in a pass: forward, recomputed forward, backward. Layers of
// multi-token prediction follow the model's own head, so that backward ends with it.
//
// A layer pass has a host timer that starts with it; what follows starts when both the timer and
// the layer's last operation have ended.
#pragma once

#include "workload/chain_pass.h"
#include "workload/chunks.h"
#include "workload/gradient_sync.h"
#include "workload/sharded_units.h"

namespace shardsim {

// What runs beside a pass for data parallelism; null: nothing.
struct Beside {
  ParameterGather* gather = nullptr;
  GradientSync* sync = nullptr;
  ShardedUnits& units;
};

void forward_layers(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                    const Beside& beside, PassBuilder& pass);
void backward_layers(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                     BackwardPart part, const Beside& beside, PassBuilder& pass);
void forward_mtp(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                 const Beside& beside, PassBuilder& pass);
void backward_mtp(const RunSpec& run, const ModelChains& chains, const Chunk& chunk,
                  BackwardPart part, const Beside& beside, PassBuilder& pass);

}  // namespace shardsim
