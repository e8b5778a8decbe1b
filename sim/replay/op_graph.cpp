#include "replay/op_graph.h"

#include <limits>

#include "base/errors.h"
#include "lowering/dependencies.h"

namespace shardsim {
namespace {

// Visits all (operation, predecessors) of the program in order.
template <class Visit>
void for_each_op(const Folded& folded, const LoweredProgram& program, Visit visit) {
  DependencyWalk walk;
  std::int32_t index = 0;
  for (const LoweredPass& pass : program.passes) {
    const LoweredTemplate& lowered = at(folded.templates, pass.pass_template);
    const std::int32_t first = index;
    for (const LoweredOp& op : lowered.ops) {
      visit(op, index, walk.predecessors(lowered, op, first));
      walk.enqueue(op, index);
      ++index;
    }
  }
}

void fill_slots(const LoweredProgram& program, OpGraph& graph) {
  const std::size_t slots = program.slots.size();
  graph.first_slot_op.assign(slots + 1, 0);
  for (const LoweredOp* op : graph.ops) {
    if (op->is_flow) {
      ++at(graph.first_slot_op, op->slot + 1);
    }
  }
  for (std::size_t slot = 0; slot < slots; ++slot) {
    graph.first_slot_op[slot + 1] += graph.first_slot_op[slot];
  }
  graph.slot_ops.resize(static_cast<std::size_t>(graph.first_slot_op.back()));
  std::vector<std::int32_t> next(graph.first_slot_op.begin(), graph.first_slot_op.end() - 1);
  for (std::int32_t i = 0; i < count(graph.ops); ++i) {
    const LoweredOp& op = *at(graph.ops, i);
    if (!op.is_flow) {
      continue;
    }
    const std::int32_t first = at(graph.first_slot_op, op.slot);
    const std::int32_t place = at(next, op.slot)++;
    at(graph.use, i) = place - first;
    at(graph.slot_ops, place) = i;
  }
}

}  // namespace

OpGraph make_op_graph(const Folded& folded, const LoweredProgram& program) {
  OpGraph graph;
  std::int32_t total = 0;
  graph.first_op.reserve(program.passes.size() + 1);
  for (const LoweredPass& pass : program.passes) {
    graph.first_op.push_back(total);
    total += count(at(folded.templates, pass.pass_template).ops);
  }
  graph.first_op.push_back(total);
  const auto size = static_cast<std::size_t>(total);
  graph.ops.resize(size);
  graph.use.assign(size, 0);
  graph.predecessors.resize(size);
  graph.first_successor.assign(size + 1, 0);

  for_each_op(folded, program, [&](const LoweredOp& op, std::int32_t index, const auto& found) {
    at(graph.ops, index) = &op;
    SHARDSIM_CHECK(found.size() <= std::numeric_limits<std::uint16_t>::max(),
                   "an operation waits for too many others");
    at(graph.predecessors, index) = static_cast<std::uint16_t>(found.size());
    for (const std::int32_t before : found) {
      SHARDSIM_CHECK(before < index, "an operation depends on a later one");
      ++at(graph.first_successor, before + 1);
    }
  });
  for (std::size_t i = 0; i < size; ++i) {
    graph.first_successor[i + 1] += graph.first_successor[i];
  }
  graph.successors.resize(static_cast<std::size_t>(graph.first_successor.back()));
  std::vector<std::int32_t> next(graph.first_successor.begin(), graph.first_successor.end() - 1);
  for_each_op(folded, program, [&](const LoweredOp&, std::int32_t index, const auto& found) {
    for (const std::int32_t before : found) {
      at(graph.successors, at(next, before)++) = index;
    }
  });
  fill_slots(program, graph);
  return graph;
}

}  // namespace shardsim
