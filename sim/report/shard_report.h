// The matrix view of one job: what each parallel axis cuts of each weight and activation, and which
// primitives follow. A plain value for the writers; nothing is simulated.
//
//   llama3-70b, tp 8, dp 2, micro 1: "down input" [2, 8192, 28672] in all, [1, 8192, 3584] on a
//   GPU, tp cuts ffn, dp cuts b
// Shapes are of one layer; weights in elements of param_dtype, padded vocabulary. `bytes` are those
// of one rank. Rows stand in the order in which data passes the operators.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sharding/tensors.h"
#include "workload/program.h"

namespace shardsim {

struct ShardTensor {
  std::string tensor;
  std::string where;  // "embedding", "layer", "head": the chain it belongs to
  std::vector<SizedDim> full;
  std::vector<SizedDim> local;
  // By Axis: name of the dimension, "" = whole, "flat" for weights under ZeRO 3.
  std::array<std::string, kAxisCount> cut;
  std::int64_t copies = 1;  // ranks of its stage that hold the same slice
  Bytes bytes{};
};

// Between two operators that follow each other: where their placements differ, a primitive.
struct Docking {
  std::string from;
  std::string to;
  std::string yields;  // "Shard(head)"; along tp, other axes only where the two differ
  std::string needs;
  Primitive forward = Primitive::none;
  Primitive backward = Primitive::none;  // of the gradient
};

struct UsualBytes {  // of one message, as quoted for large training jobs
  std::int64_t least = 0;
  std::int64_t most = 0;
};

struct ShardPrimitive {
  std::string axis;  // "tp" "sp" "cp" "ep" "pp" "dp"; a group's name where several axes take part
  std::string primitive;
  std::string trigger;
  std::string stream;
  std::int64_t group_size = 1;
  std::int64_t count_per_step = 0;   // on one rank, of the stage that has most
  std::int64_t exposed_count = 0;    // of them, with no kernel to stand beside
  Bytes message{};                   // full buffer, as nccl-tests counts; message of send_recv
  std::vector<std::int32_t> stages;  // that take part
  std::optional<UsualBytes> usual;
  [[nodiscard]] bool unusual() const;
};

struct ShardReport {
  RunSpec run;
  std::vector<ShardTensor> weights;
  std::vector<ShardTensor> activations;  // that forward leaves for backward
  std::vector<Docking> dockings;
  std::vector<ShardPrimitive> primitives;
  std::vector<std::string> notes;  // what an axis cannot cut here, and why
};

[[nodiscard]] ShardReport make_shard_report(const RunSpec& run, const Program& program);

}  // namespace shardsim
