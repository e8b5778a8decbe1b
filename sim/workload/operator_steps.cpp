#include "workload/operator_steps.h"

#include <algorithm>

#include "base/errors.h"
#include "base/ids.h"
#include "sharding/derive.h"
#include "sharding/mla.h"
#include "sharding/moe.h"
#include "workload/attention_kernels.h"
#include "workload/moe_kernels.h"
#include "workload/schedule.h"

namespace shardsim {
namespace {

Bytes message_bytes(const RunSpec& run, OperatorKind consumer) {
  const std::int64_t tokens = checked_mul(run.batch.micro, run.batch.sequence / run.parallel.cp);
  std::int64_t width = consumer == OperatorKind::loss ? padded_vocab(run) : run.model.hidden;
  if (consumer == OperatorKind::mla_up) {
    width = latent_width(run.model);
  } else if (consumer == OperatorKind::mtp_projection) {
    width = checked_mul(2, run.model.hidden);
  }
  return Bytes{checked_mul(checked_mul(tokens, width),
                           element_bytes(tensor_precision(run.training.precision)))};
}

// Ulysses moves queries, keys and values into the core, its output out of it.
Bytes exchanged_bytes(const RunSpec& run, OperatorKind consumer) {
  return consumer == OperatorKind::attention ? attention_input_bytes(run)
                                             : attention_output_bytes(run);
}

Communication communication_of(const RunSpec& run, const DerivedCommunication& derived, Bytes bytes,
                               std::string trigger) {
  if (derived.primitive == Primitive::none) {
    return {};
  }
  return {.primitive = derived.primitive,
          .group = derived.group,
          .bytes = bytes,
          .dtype = tensor_precision(run.training.precision),
          .trigger = std::move(trigger)};
}

// Unsummed parts are named after the operator that left them, cut tensors after the one that needs
// them.
bool sums(const DerivedCommunication& derived) {
  return derived.primitive == Primitive::all_reduce ||
         derived.primitive == Primitive::reduce_scatter;
}

// Experts keep as many tokens as they got.
Bytes saved_bytes(const RunSpec& run, const Tensor& tensor, double load) {
  const Bytes even = local_bytes(run, tensor);
  return is_expert(tensor.op) ? Bytes{scaled(even.value(), load)} : even;
}

void add_saved(const RunSpec& run, const std::vector<SavedTensor>& tensors, double load,
               Chain& chain) {
  for (const SavedTensor& saved : tensors) {
    at(chain, saved.place)
        .saved.push_back({saved.tensor.name, saved.as, saved_bytes(run, saved.tensor, load)});
  }
}

Chain make_chain(const RunSpec& run, const std::vector<OperatorKind>& kinds,
                 const std::vector<SavedTensor>& saved, const RankVariant& variant = {}) {
  Chain chain;
  for (const OperatorKind kind : kinds) {
    Operator op;
    op.kind = kind;
    op.kernels = operator_kernels(run, kind, variant);
    if (!chain.empty()) {
      op.input = transition_between(run, chain.back().kind, kind, variant);
    }
    for (const Tensor& weight : operator_weights(run, kind)) {
      op.parameters = checked_add(op.parameters, local_elements(run, weight));
    }
    chain.push_back(std::move(op));
  }
  add_saved(run, saved, variant.load, chain);
  return chain;
}

std::size_t place_of(const Chain& chain, OperatorKind kind) {
  const auto found =
      std::ranges::find_if(chain, [&](const Operator& op) { return op.kind == kind; });
  return static_cast<std::size_t>(found - chain.begin());
}

// Moves `count` operators from `from` to right before `to`, beside whose input they then run.
void move_beside(Chain& chain, std::size_t from, std::size_t count, std::size_t to) {
  const auto begin = chain.begin();
  std::rotate(begin + static_cast<std::ptrdiff_t>(from),
              begin + static_cast<std::ptrdiff_t>(from + count),
              begin + static_cast<std::ptrdiff_t>(to));
  chain[to].beside = static_cast<std::int32_t>(count);
}

// Shared experts beside the all-to-alls of the routed ones: their first product and activation
// beside dispatch, the second product beside combine (Megatron, moe/token_dispatcher.py with
// moe_shared_expert_overlap). Their sum over tp then comes before the residual.
void run_shared_beside(const RunSpec& run, Chain& chain) {
  using enum OperatorKind;
  if (!runs_shared_beside(run) || place_of(chain, shared_up) == chain.size()) {
    return;
  }
  chain[place_of(chain, router)].input = transition_between(run, norm, router);
  chain.back().input = transition_between(run, shared_down, chain.back().kind);
  move_beside(chain, place_of(chain, shared_down), 1, place_of(chain, unpermute));
  move_beside(chain, place_of(chain, shared_up), 2, place_of(chain, expert_sort));
}

}  // namespace

bool pairs_passes(const RunSpec& run) {
  return run.training.overlap.ep && run.model.moe && run.parallel.ep > 1 && run.parallel.pp > 1 &&
         run.parallel.zero < 3 && find_schedule(run.training.schedule).bidirectional;
}

bool runs_shared_beside(const RunSpec& run) {
  return run.training.overlap.ep && run.model.moe && run.model.moe->shared_ffn > 0 &&
         run.parallel.ep > 1 && !pairs_passes(run);
}

Bytes saved_bytes(const Operator& op) {
  Bytes sum{};
  for (const SavedBytes& saved : op.saved) {
    sum += saved.bytes;
  }
  return sum;
}

Bytes hidden_bytes(const RunSpec& run) { return message_bytes(run, OperatorKind::norm); }

bool on_cp(const Communication& communication) { return communication.group == axis_set(Axis::cp); }

Category tp_category(const RunSpec& run, const Communication& communication) {
  return run.parallel.sp && communication.primitive != Primitive::all_reduce ? Category::sp
                                                                             : Category::tp;
}

Stream stream_of(const Communication& communication) {
  if (on_cp(communication)) {
    return Stream::cp;
  }
  const AxisSet experts = static_cast<AxisSet>(axis_set(Axis::ep) | axis_set(Axis::etp));
  return (communication.group & experts) != 0 ? Stream::ep : Stream::tp;
}

StreamMask layer_streams(const RunSpec& run) {
  return static_cast<StreamMask>(mask(Stream::tp) | (run.parallel.cp > 1 ? mask(Stream::cp) : 0) |
                                 (run.model.moe ? mask(Stream::ep) : 0));
}

Category category_of(const RunSpec& run, const Communication& communication) {
  switch (stream_of(communication)) {
    case Stream::ep:
      return Category::ep;
    case Stream::cp:
      return Category::cp;
    default:
      return tp_category(run, communication);
  }
}

Transition transition_between(const RunSpec& run, OperatorKind producer, OperatorKind consumer,
                              const RankVariant& variant) {
  if (is_expert(producer) || is_expert(consumer)) {
    return expert_transition(run, producer, consumer, variant.load);
  }
  const std::string from{name(producer)};
  const std::string to{name(consumer)};
  const DerivedCommunication forward = forward_between(run.parallel, producer, consumer);
  const Bytes bytes = forward.group == axis_set(Axis::cp) ? exchanged_bytes(run, consumer)
                                                          : message_bytes(run, consumer);
  const DerivedCommunication backward = backward_between(run.parallel, producer, consumer);
  const DerivedCommunication stored = stored_input(run.parallel, producer, consumer);
  return {communication_of(run, forward, bytes, sums(forward) ? from : to),
          communication_of(run, backward, bytes, (sums(backward) ? to : from) + " dgrad"),
          communication_of(run, stored, bytes, to + " wgrad")};
}

Chain layer_chain(const RunSpec& run, LayerKind layer, const RankVariant& variant) {
  Chain chain =
      make_chain(run, layer_operators(run.model, layer), layer_saved(run, layer), variant);
  run_shared_beside(run, chain);
  return chain;
}

Chain mtp_chain(const RunSpec& run, const RankVariant& variant) {
  Chain chain = make_chain(run, mtp_operators(run.model), mtp_saved(run), variant);
  run_shared_beside(run, chain);
  return chain;
}

Chain embedding_chain(const RunSpec& run) {
  return make_chain(run, embedding_operators(run.model), embedding_saved(run));
}

Chain head_chain(const RunSpec& run) {
  Chain chain = make_chain(run, head_operators(), head_saved(run));
  for (Operator& op : chain) {
    if (op.kind == OperatorKind::head && run.model.tied_embeddings && run.parallel.pp == 1) {
      op.parameters = 0;
    }
  }
  return chain;
}

std::int64_t chain_parameters(const Chain& chain) {
  std::int64_t sum = 0;
  for (const Operator& op : chain) {
    sum = checked_add(sum, op.parameters);
  }
  return sum;
}

}  // namespace shardsim
