// Context parallelism: who attends to what, how much moves, what is kept.
#include "workload/context.h"

#include "sharding/derive.h"
#include "sharding/tensors.h"
#include "support/catch.h"
#include "workload/attention_kernels.h"
#include "workload/programs.h"

using namespace shardsim;
using namespace shardsim::programs;

namespace {

RunSpec job(const jobs::Layout& layout, CpComm comm, bool balanced = true) {
  RunSpec run = jobs::job(jobs::llama(4, 1024, 3072, 16, 8, 32000), layout);
  run.parallel.cp_comm = comm;
  run.parallel.cp_balanced = balanced;
  run.parallel.cp_a2a = comm == CpComm::a2a_p2p ? 2 : 1;
  return run;
}

// Pairs of query and key that the blocks compute, in units of half a pair.
std::int64_t half_pairs(const std::vector<AttentionBlock>& blocks) {
  std::int64_t sum = 0;
  for (const AttentionBlock& block : blocks) {
    sum += (block.causal ? 1 : 2) * block.queries * block.keys;
  }
  return sum;
}

Count of_cp(const Program& program, std::size_t kind, Primitive primitive) {
  const Counts all = communications(program, kind);
  const auto found = all.find({Category::cp, primitive});
  return found == all.end() ? Count{} : found->second;
}

double attention_flops(const Program& program) {
  double sum = 0;
  for (const std::int32_t kind : program.program_of_rank) {
    each_op(program, static_cast<std::size_t>(kind), [&](const Pass&, const Op& op) {
      if (op.kind == OpKind::kernel &&
          at(program.kernels, op.kernel).kind == KernelKind::flash_attention) {
        sum += flops(at(program.kernels, op.kernel)).value();
      }
    });
  }
  return sum;
}

}  // namespace

// ---- causal work

// s = 512, ring 4: a rank's fair share of the s^2/2 pairs under the mask is 512^2/8 = 32768.
TEST_CASE("context: zig-zag gives every rank and every step the same work") {
  const RunSpec run = job({.cp = 4, .sequence = 512}, CpComm::p2p);
  CHECK(attention_kinds(run) == 1);
  std::int64_t sum = 0;
  for (const std::vector<AttentionBlock>& step : ring_blocks(run, 0)) {
    CHECK(half_pairs(step) == 2 * 32768 / 4);
    sum += half_pairs(step);
  }
  CHECK(sum == 2 * 32768);
  CHECK(half_pairs(gathered_blocks(run, 0)) == 2 * 32768);
}

// The plain split: rank i does i + 1/2 blocks of 128 x 128, in all (1 + 3 + 5 + 7) / 2 = 8.
TEST_CASE("context: the plain split leaves late ranks most of the work") {
  const RunSpec run = job({.cp = 4, .sequence = 512}, CpComm::p2p, false);
  REQUIRE(attention_kinds(run) == 4);
  for (std::int32_t kind = 0; kind < 4; ++kind) {
    CHECK(attention_kind(run, kind) == kind);
    std::int64_t sum = 0;
    for (const std::vector<AttentionBlock>& step : ring_blocks(run, kind)) {
      sum += half_pairs(step);
    }
    CHECK(sum == (2 * kind + 1) * 128 * 128);
    CHECK(half_pairs(gathered_blocks(run, kind)) == sum);
  }
}

TEST_CASE("context: exchanged heads need no zig-zag") {
  CHECK(attention_kinds(job({.cp = 4}, CpComm::a2a, false)) == 1);
  const RunSpec run = job({.cp = 8, .sequence = 512}, CpComm::a2a_p2p, false);
  REQUIRE(attention_kinds(run) == 4);  // places in a ring that joins runs of two
  CHECK(attention_kind(run, 0) == 0);
  CHECK(attention_kind(run, 1) == 0);
  CHECK(attention_kind(run, 7) == 3);
}

TEST_CASE("context: all ranks together do the FLOPs of one without cp") {
  const double whole = attention_flops(build(job({}, CpComm::p2p)));
  for (const bool balanced : {true, false}) {
    for (const CpComm comm : {CpComm::p2p, CpComm::all_gather, CpComm::a2a, CpComm::a2a_p2p}) {
      CHECK(attention_flops(build(job({.cp = 4}, comm, balanced))) == Approx(whole));
    }
  }
}

// ---- volumes: s = 2048, 4 layers, 16 heads and 8 KV heads of 64: with tp 2 a rank has 512 query
// and 256 key features. A block of keys and values at cp 4 is 512 x 2 x 256 x 2 B = 512 KiB.

TEST_CASE("context: a ring moves cp - 1 blocks of KV forward, KV and dKV backward") {
  const std::int64_t block = 512 * 1024;
  for (const std::int64_t cp : {2, 4, 8}) {
    const Program program = build(job({.tp = 2, .sp = true, .cp = cp}, CpComm::p2p));
    const Count moved = of_cp(program, 0, Primitive::shift);
    const std::int64_t here = block * 4 / cp;
    CHECK(moved.times == 4 * ((cp - 1) + cp));
    CHECK(moved.bytes == 4 * 3 * (cp - 1) * here);
    CHECK(of_cp(program, 0, Primitive::all_to_all).times == 0);
  }
}

TEST_CASE("context: gathered KV is gathered in both directions, its gradient scattered") {
  const std::int64_t whole = 4 * 512 * 1024;
  const Program program = build(job({.tp = 2, .cp = 4}, CpComm::all_gather));
  CHECK(of_cp(program, 0, Primitive::all_gather).bytes == 4 * 2 * whole);
  CHECK(of_cp(program, 0, Primitive::reduce_scatter).bytes == 4 * whole);
  CHECK(of_cp(program, 0, Primitive::shift).times == 0);
}

// q, k, v in and the output back: 512 tokens x (512 + 2 x 256 + 512) x 2 B in either direction, of
// which 3/4 leave the rank.
TEST_CASE("context: Ulysses trades queries, keys, values and output, forward and backward") {
  const Program program = build(job({.tp = 2, .cp = 4}, CpComm::a2a));
  const Count moved = of_cp(program, 0, Primitive::all_to_all);
  CHECK(moved.times == 4 * 4);
  CHECK(moved.bytes == 4 * 2 * std::int64_t{512} * (512 + 2 * 256 + 512) * 2);
}

TEST_CASE("context: two levels trade heads among neighbours and pass KV round rings of the rest") {
  const Program program = build(job({.tp = 2, .cp = 8}, CpComm::a2a_p2p));
  const Count traded = of_cp(program, 0, Primitive::all_to_all);
  const Count moved = of_cp(program, 0, Primitive::shift);
  CHECK(traded.times == 4 * 4);
  CHECK(traded.bytes == 4 * 2 * std::int64_t{256} * (512 + 2 * 256 + 512) * 2);
  // Twice the tokens of half the heads: as large a block as before the trade.
  CHECK(moved.bytes == 4 * 3 * (4 - 1) * std::int64_t{256} * 2 * 256 * 2);
  for (const Communication& c : program.communications) {
    if (c.group == axis_set(Axis::cp)) {
      CHECK(c.neighbours == (c.primitive == Primitive::all_to_all ? 2 : 0));
      CHECK(c.strided == (c.primitive == Primitive::shift ? 2 : 0));
    }
  }
}

// Recomputation of the core, or of all, repeats what forward moved; backward stays.
TEST_CASE("context: recomputation repeats forward's communication") {
  struct Case {
    CpComm comm;
    Primitive primitive;
    std::int64_t forward, backward;  // operations of a layer
  };
  for (const Case& c : {Case{CpComm::p2p, Primitive::shift, 3, 4},
                        Case{CpComm::all_gather, Primitive::all_gather, 1, 1},
                        Case{CpComm::a2a, Primitive::all_to_all, 2, 2}}) {
    RunSpec run = job({.cp = 4}, c.comm);
    CHECK(of_cp(build(run), 0, c.primitive).times == 4 * (c.forward + c.backward));
    for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
      run.training.recompute = recompute;
      CHECK(of_cp(build(run), 0, c.primitive).times == 4 * (2 * c.forward + c.backward));
    }
  }
}

// ---- what one rank holds

// Micro batch 1, tp 4, cp 2, dp 2: of the intermediate [2, s, ffn] one rank has [1, s/2, ffn/4].
TEST_CASE("context: tp, cp and dp together leave a sixteenth of the intermediate") {
  RunSpec run = jobs::job(jobs::llama3_8b(), {.tp = 4, .cp = 2, .dp = 2, .sequence = 8192});
  const Tensor inner{"intermediate",
                     OperatorKind::down,
                     Port::input,
                     {{Dim::batch, 2}, {Dim::sequence, 8192}, {Dim::ffn, 14336}},
                     2};
  CHECK(local_dims(run, inner) ==
        std::vector<SizedDim>{{Dim::batch, 1}, {Dim::sequence, 4096}, {Dim::ffn, 3584}});
  CHECK(elements(inner.dims) == 16 * local_elements(run, inner));
  CHECK(copies(run, inner) == 1);
  // Outside tensor parallelism a block's input is whole along tp, and cut there too under sp.
  const Tensor outer{"norm input",
                     OperatorKind::norm,
                     Port::input,
                     {{Dim::batch, 2}, {Dim::sequence, 8192}, {Dim::hidden, 4096}},
                     2};
  CHECK(elements(outer.dims) == 4 * local_elements(run, outer));
  run.parallel.sp = true;
  CHECK(local_dims(run, outer) == std::vector<SizedDim>{{Dim::batch, 1},
                                                        {Dim::sequence, 8192 / (2 * 4)},
                                                        {Dim::hidden, 4096}});
}

TEST_CASE("context: weights are whole and their gradients unsummed over cp") {
  RunSpec run = jobs::job(jobs::llama3_8b(), {.cp = 4, .dp = 2, .zero = 1});
  for (const OperatorKind kind : layer_operators(run.model)) {
    for (const Tensor& weight : operator_weights(run, kind)) {
      CHECK(placement_of(run, weight, Axis::cp) == kReplicate);
      CHECK(weight_gradient(run.parallel, Axis::cp, kind, kReplicate) == kPartial);
    }
  }
  Bytes gradients{};
  const Program program = build(run);
  CHECK(of_trigger(program, 0, "gradients", &gradients) > 0);
  CHECK(gradients == Bytes{program.programs[0].parameters * 4});
  for (const Communication& c : program.communications) {
    if (c.trigger == "gradients" || c.trigger == "parameters") {
      CHECK(c.group == (axis_set(Axis::cp) | axis_set(Axis::dp)));
    }
  }
  CHECK(program.programs[0].memory.optimizer ==
        Bytes{(program.programs[0].parameters + 7) / 8 * 12});
}

TEST_CASE("context: only Ulysses moves a tensor between operators") {
  ParallelSpec parallel;
  parallel.cp = 4;
  parallel.tp = 2;
  for (const CpComm comm : {CpComm::p2p, CpComm::all_gather, CpComm::a2a}) {
    parallel.cp_comm = comm;
    const DerivedCommunication trade =
        comm == CpComm::a2a ? DerivedCommunication{Primitive::all_to_all, axis_set(Axis::cp)}
                            : DerivedCommunication{};
    using enum OperatorKind;
    CHECK(forward_between(parallel, rope, attention) == trade);
    CHECK(backward_between(parallel, rope, attention) == trade);
    CHECK(forward_between(parallel, attention, attention_out) == trade);
    CHECK(backward_between(parallel, attention, attention_out) == trade);
    CHECK(stored_input(parallel, attention, attention_out) == DerivedCommunication{});
    CHECK(forward_between(parallel, qkv, rope) == DerivedCommunication{});
  }
}

// Activations that one rank keeps over forward are a fourth at cp 4; Ulysses keeps the core's
// output beside the traded one.
TEST_CASE("context: cp cuts what forward keeps") {
  const auto kept = [](const RunSpec& run) {
    std::int64_t sum = 0;
    for (const SavedTensor& saved : layer_saved(run)) {
      sum += local_bytes(run, saved.tensor).value();
    }
    return sum;
  };
  const std::int64_t whole = kept(job({}, CpComm::p2p));
  CHECK(kept(job({.cp = 4}, CpComm::p2p)) * 4 == whole);
  CHECK(kept(job({.cp = 4}, CpComm::all_gather)) * 4 == whole);
  CHECK(kept(job({.cp = 4}, CpComm::a2a)) * 4 == whole + 2048 * 1024 * 2);
}

// ---- exhaustive

// Every layout of up to 16 ranks, checked: groups meet in equal order, memory returns to its start.
TEST_CASE("context: every small layout makes a program that passes its checks") {
  for (const std::int64_t cp : {2, 4}) {
    for (const auto& [tp, sp] : {std::pair{1, false}, std::pair{2, false}, std::pair{2, true}}) {
      for (const auto& [pp, vpp] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{2, 2}}) {
        for (const std::int64_t dp : {1, 2}) {
          for (const CpComm comm :
               {CpComm::p2p, CpComm::all_gather, CpComm::a2a, CpComm::a2a_p2p}) {
            RunSpec run = job({.tp = tp,
                               .sp = sp,
                               .cp = cp,
                               .pp = pp,
                               .vpp = vpp,
                               .dp = dp,
                               .zero = dp - 1,
                               .micro_batches = 4,
                               .sequence = 256},
                              comm, dp == 2);
            run.training.recompute = dp == 2 ? Recompute::selective : Recompute::none;
            run.training.overlap.cp = pp == 1;
            CHECK_NOTHROW(build(run));
          }
        }
      }
    }
  }
}
