// The generic step from placements to communication: what stands between two operators.
#pragma once

#include <span>

#include "sharding/axes/axes.h"
#include "sharding/operators.h"
#include "sharding/primitive.h"
#include "sharding/rank_grid.h"
#include "spec/run_spec.h"

namespace shardsim {

struct DerivedCommunication {
  Primitive primitive = Primitive::none;
  AxisSet group = 0;
  bool operator==(const DerivedCommunication&) const = default;
};

// The axes of the grid that the operator stands in.
[[nodiscard]] std::span<const Axis> axes_of(OperatorKind kind);

// Of two operators in different grids, those of the experts' grid: what stands at its edge has a
// row there too.
[[nodiscard]] std::span<const Axis> axes_between(OperatorKind producer, OperatorKind consumer);

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
