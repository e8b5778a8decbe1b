// Tensor parallelism (Megatron-LM, arXiv 1909.08053 section 3): heads and ffn are cut.
//
//            needs       weight       yields
//   qkv, up  whole       columns      cut      (column parallel)
//   out,down cut         rows         Partial  (row parallel)
// so between qkv and out, and between up and down, what is yielded is what is needed.
#include "sharding/axes/axes.h"

namespace shardsim {
namespace {

AxisRow embedding_row(VocabCut cut) {
  switch (cut) {
    case VocabCut::vocab:  // each rank finds its own words; the others are zero
      return {kReplicate, shard(Dim::vocab), kPartial};
    case VocabCut::hidden:
      return {kReplicate, shard(Dim::hidden), shard(Dim::hidden)};
    case VocabCut::none:
      break;
  }
  return {};
}

AxisRow head_row(VocabCut cut) {
  switch (cut) {
    case VocabCut::vocab:
      return {kReplicate, shard(Dim::vocab), shard(Dim::vocab)};
    case VocabCut::hidden:
      return {shard(Dim::hidden), shard(Dim::hidden), kPartial};
    case VocabCut::none:
      break;
  }
  return {};
}

std::optional<AxisRow> row(OperatorKind kind, const ParallelSpec& parallel) {
  using enum OperatorKind;
  switch (kind) {
    case embedding:
      return embedding_row(parallel.vocab_cut);
    case qkv:
    case mla_up:
      return AxisRow{kReplicate, shard(Dim::head), shard(Dim::head)};
    case qk_norm:
    case rope:
    case attention:
      return AxisRow{shard(Dim::head), kReplicate, shard(Dim::head)};
    case attention_out:
      return AxisRow{shard(Dim::head), shard(Dim::head), kPartial};
    case up:
    case shared_up:
      return AxisRow{kReplicate, shard(Dim::ffn), shard(Dim::ffn)};
    case activation:
    case shared_activation:
      return AxisRow{shard(Dim::ffn), kReplicate, shard(Dim::ffn)};
    case down:
    case shared_down:
      return AxisRow{shard(Dim::ffn), shard(Dim::ffn), kPartial};
    case head:
      return head_row(parallel.vocab_cut);
    case mtp_projection:  // columns; the sum of the next operators needs all of them (Megatron,
                          // multi_token_prediction.py gathers its output)
      return AxisRow{kReplicate, shard(Dim::hidden), shard(Dim::hidden)};
    case loss:  // vocab-parallel cross-entropy, whose own sums are a named exception
      return parallel.vocab_cut == VocabCut::none
                 ? AxisRow{}
                 : AxisRow{shard(Dim::vocab), kReplicate, shard(Dim::vocab)};
    case position:
    case dropout:
    case norm:
    case residual:
    case mla_down:
    case mla_norm:
    case mtp_output:
    case router:  // every rank of the group routes all tokens it holds
    case permute:
    case unpermute:
      return AxisRow{};
    case expert_sort:
    case expert_up:
    case expert_activation:
    case expert_down:
    case expert_unsort:
      break;  // of the experts' grid
  }
  return std::nullopt;
}

}  // namespace

ShardingAxis tensor_parallel() {
  return {"tp", "cuts heads and ffn of weights, V of embedding and head", Axis::tp,
          [](const ParallelSpec& parallel) { return parallel.tp > 1; }, row};
}

}  // namespace shardsim
