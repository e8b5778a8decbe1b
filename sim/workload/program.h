// What each kind of rank does in one training step: operations on streams, in static order.
//
// A Program is stored as the schedule is: *pass templates* (the forward of a chunk, its backward,
// the step's end, ...) and, per kind of rank, the ordered list of *passes* that instantiate them.
// A template's operations are written once however many micro batches run it.
//
// Semantics, like CUDA streams and events. Operations are enqueued pass by pass, in template order.
// An operation starts as soon as
//   1. the operation enqueued before it on the same stream has ended (also across passes),
//   2. its `deps` (earlier operations of the same pass) have ended, and
//   3. for each stream in `join`, everything enqueued on that stream before it, in this or earlier
//      passes, has ended.
// A collective starts on the machine when all ranks of its group have started it; send and recv
// meet. The k-th use of a slot (group and direction) on one rank meets the k-th use on the others.
//
//   template "F c0": recv -> [norm qkv attn out] -> tp all_reduce -> ... -> send
//   rank of stage 1: passes F0 F1 B0 F2 B1 ...  (1f1b)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "sharding/primitive.h"
#include "sharding/token_spread.h"
#include "spec/kernel_shape.h"
#include "spec/run_spec.h"

namespace shardsim {

enum class Stream : std::uint8_t {
  compute,
  host,  // the CPU that launches kernels: the floor under each layer pass
  tp,
  cp,
  ep,
  dp,
  pp_send_forward,
  pp_recv_forward,
  pp_send_backward,
  pp_recv_backward,
  // Of the second direction of a bidirectional pipeline (dualpipe's chunk 1).
  pp_send_forward_mirrored,
  pp_recv_forward_mirrored,
  pp_send_backward_mirrored,
  pp_recv_backward_mirrored,
};
inline constexpr std::size_t kStreamCount = 14;
using StreamMask = std::uint32_t;
[[nodiscard]] constexpr StreamMask mask(Stream stream) {
  return static_cast<StreamMask>(1U << static_cast<unsigned>(stream));
}

// The class of an operation in breakdowns (DESIGN: keys compute_s, recompute_s, ...).
enum class Category : std::uint8_t { compute, recompute, optimizer, tp, sp, cp, ep, pp, dp, other };
inline constexpr std::size_t kCategoryCount = 10;
[[nodiscard]] std::string_view name(Category category);
[[nodiscard]] std::string_view name(Stream stream);

// host: a timer of kernel launches on Stream::host; on Stream::compute, with no launches, an
// operation of no duration at which streams meet (a pass begins, gradients are done).
enum class OpKind : std::uint8_t { kernel, communication, host };

// One kind of communication: what is moved among whom. `group` is empty for send and recv, which go
// to the rank of the stage `stage_offset` further (modulo pp) with the same other coordinates.
struct Communication {
  Primitive primitive = Primitive::none;
  AxisSet group = 0;
  std::int32_t stage_offset = 0;  // send: +1 forward, -1 backward; recv: where it comes from
  Bytes bytes{};  // full buffer of the collective (as in nccl-tests' size); message of send/recv
  Precision dtype = Precision::bf16;
  std::string trigger;  // what asks for it: "attention out", "gradient bucket", ...
  // Only the first and the last stage of the pp group take part (tied-embedding gradients, group =
  // pp): each pp group is then the pair of its two end stages.
  bool end_stages_only = false;
  // Above 0: the group falls into runs of this many neighbouring members, each of which does the
  // collective by itself (the ranks that share a KV head, group = tp).
  std::int32_t neighbours = 0;
  // Above 0: each strided-th member of the group, and those alone, do it among themselves (the
  // copies of one shard, where a part of the data-parallel group shares the state; the rings that
  // join neighbourhoods of a cp group).
  std::int32_t strided = 0;
  // The group (pp) falls into pairs of stages, i and pp - 1 - i: the two copies of a part of the
  // model in a bidirectional pipeline.
  bool mirrored_stages = false;
  // Send and recv: which of two independent rows of messages between two stages, the second being
  // that of the mirrored direction.
  std::int32_t channel = 0;
  // An all_to_all of tokens that go to each node, and each rank, once however many of their experts
  // are there: `bytes` has a copy per expert all the same.
  std::optional<TokenSpread> spread{};
  bool operator==(const Communication&) const = default;
};

struct Op {
  OpKind kind = OpKind::kernel;
  Stream stream = Stream::compute;
  Category category = Category::compute;
  StreamMask join = 0;
  std::int32_t label = 0;           // Program::labels
  std::int32_t layer = -1;          // layer within the chunk, -1 = none
  std::int32_t kernel = -1;         // Program::kernels, for OpKind::kernel
  std::int32_t communication = -1;  // Program::communications
  std::int32_t launches = 0;        // OpKind::host: kernels launched in this layer pass
  std::int32_t first_dep = 0;       // PassTemplate::deps
  std::int32_t dep_count = 0;
};

// Activation memory taken (positive, when the operation starts) or given back (negative, when it
// ends), and the tensor it holds.
struct MemoryEvent {
  std::int32_t op = 0;
  Bytes delta{};
  std::int32_t label = 0;  // Program::labels
};

// pair: a forward and a backward that compute under each other's communication (dualpipe).
enum class PassKind : std::uint8_t { step_begin, forward, backward, weight, pair, step_end };

struct PassTemplate {
  std::string name;
  PassKind kind = PassKind::forward;
  std::vector<Op> ops;
  std::vector<std::int32_t> deps;   // indices of earlier operations of this template
  std::vector<MemoryEvent> memory;  // in operation order
};

struct Pass {
  std::int32_t pass_template = 0;  // Program::templates
  std::int32_t micro_batch = -1;   // -1: step begin / end
  std::int32_t chunk = 0;
  // Of the backward of a pair; the above are its forward's.
  std::int32_t backward_micro_batch = -1;
  std::int32_t backward_chunk = 0;
};

// Bytes that a kind of rank holds all the step long.
struct StaticMemory {
  Bytes weights{};
  Bytes gradients{};
  Bytes optimizer{};
  Bytes other{};  // communication buffers, framework reserve
};

struct RankProgram {
  std::int32_t stage = 0;
  std::int64_t parameters = 0;  // on one rank, vocabulary padding included
  StaticMemory memory;
  std::vector<Pass> passes;
};

struct Program {
  std::vector<std::string> labels;
  std::vector<KernelShape> kernels;
  std::vector<Communication> communications;
  std::vector<PassTemplate> templates;
  std::vector<RankProgram> programs;          // one per kind of rank
  std::vector<std::int32_t> program_of_rank;  // per rank
};

}  // namespace shardsim
