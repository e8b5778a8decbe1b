// What does each operation of the program cost on this machine? Program x Fabric -> Lowered.
//
// Kernels become timers (platform/kernel_time.h), host operations timers of launches times the host
// time per kernel, collectives one flow per phase of their algorithm, send and recv the two ends of
// one flow. A collective of a group of one, or of no bytes, costs nothing (a timer of zero).
// Operations keep their stream, dependencies and joins; a collective of several phases is several
// operations in a row on its stream.
//
// Ranks with one program whose groups sit differently on the nodes (a tp group across a node
// boundary, a ragged last node) get different lowered programs, because algorithms depend on the
// shape of the group. `auto` takes the algorithm of the smallest predicted time alone, from data
// that all groups of a shape share: shape, bytes and the unperturbed machine.
//
// Latency of a collective = base_latency + ramp + steps * mean hop latency. The ramp is what
// message size costs beyond bandwidth (spec/cluster_spec.h): in a node scaled by min(1, ranks / 8);
// send and recv have none (algorithms/algorithm.h).
//
// Errors: InternalError for primitives that no algorithm knows. REQUIRES no collective_problems.
//
//   Lowered job = lower_program(program, run, grid, fabric, map);
//   check_lowered(job);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "lowering/lowered.h"
#include "platform/fabric.h"
#include "sharding/rank_grid.h"
#include "spec/run_spec.h"
#include "workload/program.h"

namespace shardsim {

struct LoweringOptions {
  // Each chunk of each ring step is a flow of its own between neighbours: an independent check of
  // the coupled flows. One channel per ring, so groups with several ranks on each of several nodes
  // take the hierarchical algorithm.
  bool step_by_step = false;
};

[[nodiscard]] Lowered lower_program(const Program& program, const RunSpec& run,
                                    const RankGrid& grid, const Fabric& fabric, const NodeMap& map,
                                    const LoweringOptions& options = {});

// Algorithms chosen in the run's `collectives` that do not carry that collective: a rule for the
// reader (RunRule in spec/run_rule.h).
[[nodiscard]] std::vector<Problem> collective_problems(const RunSpec& run);

void check_lowered(const Lowered& lowered);                      // InternalError if malformed
[[nodiscard]] std::string dump_lowered(const Lowered& lowered);  // one line per item

// One collective with the machine to itself.
struct CollectiveTime {
  Seconds time{};
  std::string algorithm;      // of lowering/algorithms' table
  LinkId bound_link = -1;     // that sets the pace of its longest phase, -1 = none
  BytesPerSecond bound{};     // capacity of that link
  std::int32_t crossing = 1;  // how many channels cross that link
};

// `bytes` is the full buffer (nccl-tests' size), `gpus` the ranks' places; send_recv goes from the
// first to the second. The run gives corrections and the choice of algorithm.
[[nodiscard]] CollectiveTime collective_time_alone(Primitive primitive, Bytes bytes,
                                                   const std::vector<GpuId>& gpus,
                                                   const Fabric& fabric, const RunSpec& run);

}  // namespace shardsim
