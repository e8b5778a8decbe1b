#include "sharding/derive.h"

#include <array>

#include "base/errors.h"

namespace shardsim {
namespace {

template <class Pair>
DerivedCommunication derive(const ParallelSpec& parallel, OperatorKind producer,
                            OperatorKind consumer, Pair&& yielded_and_needed) {
  DerivedCommunication result;
  for (const Axis axis : axes_between(producer, consumer)) {
    if (axis_size(parallel, axis) == 1) {
      continue;
    }
    const auto [yielded, needed] = yielded_and_needed(axis);
    const Primitive primitive = transition(yielded, needed);
    if (primitive != Primitive::none) {
      SHARDSIM_CHECK(result.primitive == Primitive::none, "two axes move the same tensor");
      result = {primitive, axis_set(axis)};
    }
  }
  return result;
}

}  // namespace

std::span<const Axis> axes_of(OperatorKind kind) {
  static constexpr std::array<Axis, 4> kDense{Axis::tp, Axis::cp, Axis::dp, Axis::pp};
  static constexpr std::array<Axis, 4> kExpert{Axis::etp, Axis::ep, Axis::edp, Axis::pp};
  return is_expert(kind) ? kExpert : kDense;
}

std::span<const Axis> axes_between(OperatorKind producer, OperatorKind consumer) {
  return axes_of(is_expert(producer) ? producer : consumer);
}

AxisRow row_of(const ParallelSpec& parallel, Axis axis, OperatorKind kind) {
  AxisRow result;
  for (const ShardingAxis& entry : sharding_axes()) {
    if (entry.grid != axis || !entry.active(parallel)) {
      continue;
    }
    if (const auto row = entry.row(kind, parallel)) {
      result = *row;
    }
  }
  return result;
}

DerivedCommunication forward_between(const ParallelSpec& parallel, OperatorKind producer,
                                     OperatorKind consumer) {
  return derive(parallel, producer, consumer, [&](Axis axis) {
    return std::pair{row_of(parallel, axis, producer).yields,
                     row_of(parallel, axis, consumer).needs};
  });
}

DerivedCommunication backward_between(const ParallelSpec& parallel, OperatorKind producer,
                                      OperatorKind consumer) {
  return derive(parallel, producer, consumer, [&](Axis axis) {
    return std::pair{gradient_of_input(row_of(parallel, axis, consumer)),
                     gradient_of_output(row_of(parallel, axis, producer))};
  });
}

DerivedCommunication stored_input(const ParallelSpec& parallel, OperatorKind producer,
                                  OperatorKind consumer) {
  return derive(parallel, producer, consumer, [&](Axis axis) {
    const Placement yielded = row_of(parallel, axis, producer).yields;
    const Placement needed = row_of(parallel, axis, consumer).needs;
    const bool sliced = axis == Axis::tp && yielded.kind == Placement::Kind::shard;
    return std::pair{sliced ? yielded : needed, needed};
  });
}

Placement weight_gradient(const ParallelSpec& parallel, Axis axis, OperatorKind kind,
                          Placement weight) {
  return gradient_of_weight(row_of(parallel, axis, kind), weight);
}

}  // namespace shardsim
