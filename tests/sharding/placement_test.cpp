#include "sharding/placement.h"

#include "base/errors.h"
#include "sharding/derive.h"
#include "support/catch.h"
#include "support/jobs.h"

using namespace shardsim;
using enum OperatorKind;

TEST_CASE("placement: nothing needs unsummed parts") {
  CHECK_THROWS_AS(transition(kReplicate, kPartial), InternalError);
  CHECK_THROWS_AS(transition(shard(Dim::sequence), kPartial), InternalError);
}

TEST_CASE("placement: each pair of placements has its primitive") {
  const Placement s = shard(Dim::sequence);
  const Placement head = shard(Dim::head);
  CHECK(transition(kPartial, kReplicate) == Primitive::all_reduce);
  CHECK(transition(kPartial, s) == Primitive::reduce_scatter);
  CHECK(transition(s, kReplicate) == Primitive::all_gather);
  CHECK(transition(s, head) == Primitive::all_to_all);
  CHECK(transition(kReplicate, s) == Primitive::none);
  CHECK(transition(s, s) == Primitive::none);
  CHECK(transition(kReplicate, kReplicate) == Primitive::none);
  CHECK(transition(kPartial, kPartial) == Primitive::none);
}

TEST_CASE("placement: gradients take the transposed placements") {
  const AxisRow column{kReplicate, shard(Dim::head), shard(Dim::head)};
  CHECK(gradient_of_input(column) == kPartial);  // each rank has the part of its heads
  CHECK(gradient_of_output(column) == shard(Dim::head));
  const AxisRow row{shard(Dim::head), shard(Dim::head), kPartial};
  CHECK(gradient_of_input(row) == shard(Dim::head));
  CHECK(gradient_of_output(row) == kReplicate);  // each summand needs the whole gradient
  const AxisRow uncut{};
  CHECK(gradient_of_input(uncut) == kReplicate);
  const AxisRow tokens{shard(Dim::sequence), kReplicate, shard(Dim::sequence)};
  CHECK(gradient_of_weight(tokens, kReplicate) == kPartial);
  CHECK(gradient_of_weight(uncut, kReplicate) == kReplicate);
  CHECK(gradient_of_weight(column, shard(Dim::head)) == shard(Dim::head));
  CHECK(to_text(shard(Dim::sequence)) == "Shard(s)");
  CHECK(to_text(kPartial) == "Partial");
}

namespace {

struct Between {
  OperatorKind producer;
  OperatorKind consumer;
  Primitive forward;
  Primitive backward;
  Primitive stored;
};

void check_between(const ParallelSpec& parallel, const std::vector<Between>& rows) {
  for (const Between& row : rows) {
    INFO(name(row.producer) << " -> " << name(row.consumer));
    CHECK(forward_between(parallel, row.producer, row.consumer).primitive == row.forward);
    CHECK(backward_between(parallel, row.producer, row.consumer).primitive == row.backward);
    CHECK(stored_input(parallel, row.producer, row.consumer).primitive == row.stored);
  }
}

constexpr Primitive kNone = Primitive::none;
constexpr Primitive kAllReduce = Primitive::all_reduce;
constexpr Primitive kAllGather = Primitive::all_gather;
constexpr Primitive kReduceScatter = Primitive::reduce_scatter;

}  // namespace

// Megatron-LM (arXiv 1909.08053 figure 3): f is identity forward and all-reduce backward, g the
// reverse; nothing between the column and the row product.
TEST_CASE("axes: tensor parallelism sums twice forward and twice backward") {
  ParallelSpec parallel;
  parallel.tp = 8;
  check_between(parallel, {{norm, qkv, kNone, kAllReduce, kNone},
                           {qkv, rope, kNone, kNone, kNone},
                           {rope, attention, kNone, kNone, kNone},
                           {attention, attention_out, kNone, kNone, kNone},
                           {attention_out, residual, kAllReduce, kNone, kNone},
                           {residual, norm, kNone, kNone, kNone},
                           {norm, up, kNone, kAllReduce, kNone},
                           {up, activation, kNone, kNone, kNone},
                           {activation, down, kNone, kNone, kNone},
                           {down, residual, kAllReduce, kNone, kNone},
                           {embedding, norm, kAllReduce, kNone, kNone},
                           {norm, head, kNone, kAllReduce, kNone},
                           {head, loss, kNone, kNone, kNone}});
}

// Korthikanti et al. (arXiv 2205.05198 figure 5): g is all-gather forward and reduce-scatter
// backward, g-bar the reverse; the stored slice is gathered again for the weight gradient.
TEST_CASE("axes: sequence parallelism turns sums into pairs and gathers stored slices") {
  ParallelSpec parallel;
  parallel.tp = 8;
  parallel.sp = true;
  check_between(parallel, {{norm, qkv, kAllGather, kReduceScatter, kAllGather},
                           {attention, attention_out, kNone, kNone, kNone},
                           {attention_out, residual, kReduceScatter, kAllGather, kNone},
                           {residual, norm, kNone, kNone, kNone},
                           {norm, up, kAllGather, kReduceScatter, kAllGather},
                           {activation, down, kNone, kNone, kNone},
                           {down, residual, kReduceScatter, kAllGather, kNone},
                           {embedding, norm, kReduceScatter, kAllGather, kNone},
                           {embedding, position, kAllReduce, kNone, kNone},
                           {position, dropout, kNone, kAllGather, kNone},
                           {norm, head, kAllGather, kReduceScatter, kAllGather}});
}

TEST_CASE("axes: a vocabulary cut along hidden moves tokens against features") {
  ParallelSpec parallel;
  parallel.tp = 4;
  parallel.vocab_cut = VocabCut::hidden;
  check_between(parallel, {{embedding, norm, kAllGather, kNone, kAllGather},
                           {norm, head, kNone, kAllGather, kNone},
                           {head, loss, kReduceScatter, kAllGather, kNone}});
  parallel.sp = true;
  CHECK(forward_between(parallel, norm, head).primitive == Primitive::all_to_all);
  parallel.vocab_cut = VocabCut::none;
  CHECK(forward_between(parallel, norm, head).primitive == Primitive::all_gather);
  CHECK(forward_between(parallel, head, loss).primitive == Primitive::none);
}

TEST_CASE("axes: data and pipeline parallelism move no activation between operators") {
  ParallelSpec parallel;
  parallel.dp = 8;
  parallel.pp = 4;
  const std::vector<OperatorKind> kinds = layer_operators(jobs::llama3_8b());
  for (std::size_t i = 1; i < kinds.size(); ++i) {
    CHECK(forward_between(parallel, kinds[i - 1], kinds[i]).primitive == Primitive::none);
    CHECK(backward_between(parallel, kinds[i - 1], kinds[i]).primitive == Primitive::none);
  }
  CHECK(weight_gradient(parallel, Axis::dp, qkv, kReplicate) == kPartial);
  CHECK(weight_gradient(parallel, Axis::pp, qkv, kReplicate) == kReplicate);
}

TEST_CASE("axes: replicated weights have unsummed gradients over tp where sp cuts their tokens") {
  ParallelSpec parallel;
  parallel.tp = 8;
  CHECK(weight_gradient(parallel, Axis::tp, norm, kReplicate) == kReplicate);
  CHECK(weight_gradient(parallel, Axis::tp, qk_norm, kReplicate) == kPartial);  // its heads
  CHECK(weight_gradient(parallel, Axis::tp, up, shard(Dim::ffn)) == shard(Dim::ffn));
  parallel.sp = true;
  CHECK(weight_gradient(parallel, Axis::tp, norm, kReplicate) == kPartial);
  CHECK(weight_gradient(parallel, Axis::tp, residual, kReplicate) == kPartial);
}

TEST_CASE("axes: sequence parallelism without tensor parallelism has no effect") {
  ParallelSpec parallel;
  parallel.sp = true;
  CHECK(row_of(parallel, Axis::tp, norm) == AxisRow{});
}
