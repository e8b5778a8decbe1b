#include "workload/chain_pass.h"

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

bool moves(const Communication& communication) {
  return communication.primitive != Primitive::none;
}

std::int32_t start(const RunSpec& run, const Communication& communication, PassBuilder& pass) {
  return pass.communicate(stream_of(communication), category_of(run, communication), communication);
}

void run_steps(const RunSpec& run, const std::vector<Step>& steps, Category category,
               PassBuilder& pass) {
  std::vector<std::int32_t> awaited;  // by the next kernel
  std::int32_t beside = -1;           // by the one after it
  const auto await_beside = [&] {
    if (beside >= 0) {
      awaited.push_back(beside);
    }
    beside = -1;
  };
  const auto await = [&] {
    for (const std::int32_t op : awaited) {
      pass.wait(op);
    }
    awaited.clear();
  };
  for (const Step& step : steps) {
    if (moves(step.communication)) {
      await_beside();
      const std::int32_t op = start(run, step.communication, pass);
      step.beside ? void(beside = op) : awaited.push_back(op);
      continue;
    }
    await();
    pass.kernel(step.label, step.kernel, category);
    await_beside();
  }
  await_beside();
  await();
}

void run_with_buffer(const RunSpec& run, const std::vector<Step>& steps, Bytes buffer,
                     Category category, PassBuilder& pass) {
  const std::int32_t first = pass.next_op();
  run_steps(run, steps, category, pass);
  if (pass.next_op() > first) {
    pass.take(buffer, first, "communication buffers");
    pass.give(buffer, pass.next_op() - 1, "communication buffers");
  }
}

const std::string kOutputGradient = "output gradients for wgrad";

bool saves_as(Saves saves, SavedAs as) {
  switch (as) {
    case SavedAs::layer_input:
      return saves.layer_input;
    case SavedAs::core:
      return saves.core;
    case SavedAs::other:
      return saves.other;
  }
  SHARDSIM_CHECK(false, "unknown way to save a tensor");
}

void take_saved(const Operator& op, Saves saves, std::int32_t first, PassBuilder& pass) {
  for (const SavedBytes& saved : op.saved) {
    if (saves_as(saves, saved.as)) {
      pass.take(saved.bytes, first, saved.what);
    }
  }
}

void give_saved(const Operator& op, PassBuilder& pass) {
  for (const SavedBytes& saved : op.saved) {
    pass.give(saved.bytes, pass.last_compute(), saved.what);
  }
}

// Gather of the slice that SP stored for an operator's weight gradient; -1: nothing to gather.
std::int32_t gather_stored(const RunSpec& run, const Operator& op, PassBuilder& pass) {
  return splits(op) && moves(op.input.stored) ? start(run, op.input.stored, pass) : -1;
}

// Weight gradients by themselves, last operator first. A slice stored under SP is gathered now, not
// kept whole: beside the weight gradient of the operator before it.
void weight_part(const RunSpec& run, const Chain& chain, GradientSync* sync, PassBuilder& pass) {
  std::int32_t stored = -1;
  bool asked = false;  // for the next operator's
  for (std::size_t i = chain.size(); i-- > 0;) {
    const Operator& op = chain[i];
    if (splits(op)) {
      if (!asked) {
        stored = gather_stored(run, op, pass);
      }
      if (stored >= 0) {
        pass.wait(stored);
      }
      std::size_t next = i;
      while (next > 0 && (next == i || !splits(chain[next]))) {
        --next;
      }
      asked = next < i && splits(chain[next]);
      stored = asked ? gather_stored(run, chain[next], pass) : -1;
      run_steps(run, op.kernels.wgrad, Category::compute, pass);
      give_saved(op, pass);
      pass.give(op.kernels.output_gradient, pass.last_compute(), kOutputGradient);
    }
    if (sync != nullptr) {
      sync->ready(pass);
    }
  }
}

// `started`: its input's communication, where that runs beside operators before it; else -1.
void forward_operator(const RunSpec& run, const Operator& op, std::int32_t started,
                      Category category, Saves saves, ParameterGather* gather, PassBuilder& pass) {
  if (gather != nullptr) {
    gather->before(pass);
  }
  if (started >= 0) {
    pass.wait(started);
  } else {
    communicate_and_wait(run, op.input.forward, pass);
  }
  const bool has_steps = !op.kernels.forward.empty();
  const std::int32_t first = has_steps ? pass.next_op() : pass.last_compute();
  run_with_buffer(run, op.kernels.forward, op.kernels.forward_buffer, category, pass);
  take_saved(op, saves, first, pass);
}

// The attention core forward again, with the exchanges of heads around it.
void recompute_core_of(const RunSpec& run, const Operator& op, const Operator& next,
                       PassBuilder& pass) {
  if (on_cp(op.input.forward)) {
    communicate_and_wait(run, op.input.forward, pass);
  }
  const std::int32_t first = pass.next_op();
  run_with_buffer(run, op.kernels.forward, op.kernels.forward_buffer, Category::recompute, pass);
  take_saved(op, {.layer_input = false, .core = true, .other = false}, first, pass);
  if (on_cp(next.input.forward)) {
    communicate_and_wait(run, next.input.forward, pass);
  }
}

// Returns the communication of its input's gradient, which the next compute operation waits for
// unless operators run beside it; -1: none.
std::int32_t backward_operator(const RunSpec& run, const Operator& op, BackwardPart part,
                               PassBuilder& pass) {
  const bool overlap = op.beside > 0 || (run.stack.tp_wgrad_overlap && !on_cp(op.input.backward));
  const bool later = part == BackwardPart::inputs && splits(op);  // the weight gradient
  std::int32_t stored = -1;
  if (moves(op.input.stored) && !op.kernels.wgrad.empty() && !later) {
    stored = start(run, op.input.stored, pass);
    if (!overlap) {
      pass.wait(stored);
    }
  }
  if (later) {
    pass.take(op.kernels.output_gradient, pass.next_op(), kOutputGradient);
  }
  run_with_buffer(run, op.kernels.dgrad, op.kernels.backward_buffer, Category::compute, pass);
  std::int32_t gradient = -1;
  if (moves(op.input.backward) && overlap) {
    gradient = start(run, op.input.backward, pass);
  }
  if (stored >= 0 && overlap) {
    pass.wait(stored);
  }
  if (!later) {
    run_steps(run, op.kernels.wgrad, Category::compute, pass);
  }
  if (moves(op.input.backward) && !overlap) {
    gradient = start(run, op.input.backward, pass);
  }
  if (gradient >= 0 && op.beside == 0) {
    pass.wait(gradient);
  }
  if (!later) {
    give_saved(op, pass);
  }
  return gradient;
}

}  // namespace

void communicate_and_wait(const RunSpec& run, const Communication& communication,
                          PassBuilder& pass) {
  if (moves(communication)) {
    pass.wait(start(run, communication, pass));
  }
}

void forward_chain(const RunSpec& run, const Chain& chain, Category category, Saves saves,
                   ParameterGather* gather, PassBuilder& pass) {
  std::vector<std::int32_t> started(chain.size(), -1);  // communication of each operator's input
  for (std::size_t i = 0; i < chain.size(); ++i) {
    for (std::size_t later = i + 1; later < chain.size(); ++later) {
      if (chain[later].beside > 0 && later - static_cast<std::size_t>(chain[later].beside) == i &&
          moves(chain[later].input.forward)) {
        started[later] = start(run, chain[later].input.forward, pass);
      }
    }
    forward_operator(run, chain[i], started[i], category, saves, gather, pass);
  }
}

bool splits(const Operator& op) { return !op.kernels.dgrad.empty() && !op.kernels.wgrad.empty(); }

Bytes kept_for_weights(const Operator& op) {
  return splits(op) ? saved_bytes(op) + op.kernels.output_gradient : Bytes{};
}

void backward_chain(const RunSpec& run, const Chain& chain, BackwardPart part, bool recompute_core,
                    GradientSync* sync, PassBuilder& pass) {
  if (part == BackwardPart::weights) {
    weight_part(run, chain, sync, pass);
    return;
  }
  std::vector<std::int32_t> awaited(chain.size(), -1);  // by each operator
  for (std::size_t i = chain.size(); i-- > 0;) {
    if (awaited[i] >= 0) {
      pass.wait(awaited[i]);
    }
    if (recompute_core && chain[i].kind == OperatorKind::attention) {
      recompute_core_of(run, chain[i], chain[i + 1], pass);
    }
    const std::int32_t gradient = backward_operator(run, chain[i], part, pass);
    if (chain[i].beside > 0) {
      at(awaited, static_cast<std::int64_t>(i) - chain[i].beside - 1) = gradient;
    }
    if (sync != nullptr) {
      sync->ready(pass);
    }
  }
}

}  // namespace shardsim
