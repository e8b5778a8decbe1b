// The generic step from placements to communication: what stands between two operators.
#pragma once

#include <cstdint>

#include "sharding/axes/axes.h"
#include "sharding/operators.h"
#include "sharding/primitive.h"
#include "spec/run_spec.h"

namespace shardsim {

struct DerivedCommunication {
  Primitive primitive = Primitive::none;
  AxisSet group = 0;
  bool operator==(const DerivedCommunication&) const = default;
};

[[nodiscard]] std::int64_t axis_size(const ParallelSpec& parallel, Axis axis);

// Placements of an operator along a grid axis: the last active line of the axis table that speaks.
[[nodiscard]] AxisRow row_of(const ParallelSpec& parallel, Axis axis, OperatorKind kind);

// Of the tensor from producer to consumer; of its gradient from consumer back to producer.
[[nodiscard]] DerivedCommunication forward_between(const ParallelSpec& parallel,
                                                   OperatorKind producer, OperatorKind consumer);
[[nodiscard]] DerivedCommunication backward_between(const ParallelSpec& parallel,
                                                    OperatorKind producer, OperatorKind consumer);
// For consumers that store their input as the producer yielded it, a slice where it was one: their
// weight gradient needs it as their forward did. Along other axes than tp they store what they
// used.
[[nodiscard]] DerivedCommunication stored_input(const ParallelSpec& parallel, OperatorKind producer,
                                                OperatorKind consumer);

// Placement of the gradient of an operator's weight along an axis.
[[nodiscard]] Placement weight_gradient(const ParallelSpec& parallel, Axis axis, OperatorKind kind,
                                        Placement weight);

}  // namespace shardsim
