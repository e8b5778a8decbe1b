// Writes a chain of operators into a pass: forward, recomputed forward, backward.
//
// Backward is dgrad then wgrad per operator, last operator first. The collective of an input's
// gradient runs beside the wgrad of the same operator when the stack overlaps them; else it follows
// the wgrad and everything waits. Under sequence parallelism the stored slice of a column-parallel
// input is gathered beside dgrad.
#pragma once

#include "workload/gradient_sync.h"
#include "workload/operator_steps.h"
#include "workload/pass_builder.h"

namespace shardsim {

struct Saves {  // which saved tensors this forward takes memory for
  bool layer_input = true;
  bool core = true;
  bool other = true;
};

// `gather` may be null: nothing to wait for.
void forward_operator(const RunSpec& run, const Operator& op, Category category, Saves saves,
                      ParameterGather* gather, PassBuilder& pass);
void forward_chain(const RunSpec& run, const Chain& chain, Category category, Saves saves,
                   ParameterGather* gather, PassBuilder& pass);

// `sync` may be null: gradients are not reduced in this pass.
void backward_chain(const RunSpec& run, const Chain& chain, bool recompute_core, GradientSync* sync,
                    PassBuilder& pass);

// A communication on the tp group that the next compute operation waits for; none: nothing.
void communicate_and_wait(const RunSpec& run, const Communication& communication,
                          PassBuilder& pass);

}  // namespace shardsim
