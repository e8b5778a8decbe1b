// Writes a chain of operators into a pass: forward, recomputed forward, backward.
//
// Backward is dgrad then wgrad per operator, last operator first. The collective of an input's
// gradient runs beside the wgrad of the same operator when the stack overlaps them; else it follows
// the wgrad and everything waits. Under sequence parallelism the stored slice of a column-parallel
// input is gathered beside dgrad.
//
// Operators that run beside the communication of one further on (Operator::beside) start with it;
// backward they run beside the gradient's.
//
// Schedules that split backward run its two parts in passes of their own: operators with a wgrad
// and a dgrad (matrix products) keep their saved input and their output's gradient from one to the
// other (arXiv 2401.10241 table 1: 32 s b h of a GPT layer); all others finish in the first.
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
void forward_chain(const RunSpec& run, const Chain& chain, Category category, Saves saves,
                   ParameterGather* gather, PassBuilder& pass);

enum class BackwardPart : std::uint8_t { both, inputs, weights };

// Whether backward of the operator falls into two parts at all.
[[nodiscard]] bool splits(const Operator& op);
// What such an operator keeps from its first part to its second.
[[nodiscard]] Bytes kept_for_weights(const Operator& op);

// `sync` may be null: gradients are not reduced in this pass.
void backward_chain(const RunSpec& run, const Chain& chain, BackwardPart part, bool recompute_core,
                    GradientSync* sync, PassBuilder& pass);

// A communication on the tp group that the next compute operation waits for; none: nothing.
void communicate_and_wait(const RunSpec& run, const Communication& communication,
                          PassBuilder& pass);

}  // namespace shardsim
