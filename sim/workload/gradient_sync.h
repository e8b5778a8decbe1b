// Data-parallel synchronisation: gradients reduced bucket by bucket, ZeRO's parameters gathered.
//
// Weights fill buckets in backward order, an operator's weights together; a bucket is closed once
// it holds `limit` parameters. Limits as in Megatron (megatron/core/distributed/
// distributed_data_parallel.py): max(40 M, 1 M * dp * cp) parameters in the first chunk of the
// first stage, one bucket per chunk elsewhere and where nothing overlaps; a bucket size that the
// user states holds everywhere.
//   ZeRO 0: all_reduce of gradients; ZeRO 1: reduce_scatter of gradients, all_gather of parameters
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workload/pass_builder.h"

namespace shardsim {

// One entry per operator with its local parameters, in backward order.
using GradientUnits = std::vector<std::int64_t>;

struct Buckets {
  std::vector<std::int32_t> bucket_of_unit;
  std::vector<std::int64_t> parameters;  // per bucket
};

[[nodiscard]] AxisSet data_group(const RunSpec& run);  // dp and cp, those larger than 1
[[nodiscard]] std::int64_t data_ranks(const RunSpec& run);

// Parameters that close a bucket of this chunk; none = never.
[[nodiscard]] std::optional<std::int64_t> bucket_limit(const RunSpec& run, std::int32_t stage,
                                                       std::int32_t chunk);
[[nodiscard]] Buckets fill_buckets(const GradientUnits& units, std::optional<std::int64_t> limit);

[[nodiscard]] Communication gradient_reduce(const RunSpec& run, std::int64_t parameters);
[[nodiscard]] Communication parameter_gather(const RunSpec& run, std::int64_t parameters);

// Walks the units of a chunk in backward order and reduces each bucket beside what follows.
class GradientSync {
 public:
  GradientSync(const RunSpec& run, const Buckets& buckets) : run_(run), buckets_(buckets) {}
  void ready(PassBuilder& pass);  // the next unit's gradients are complete

 private:
  const RunSpec& run_;
  const Buckets& buckets_;
  std::size_t unit_ = 0;
};

// Gathers all buckets beside forward, first needed first; operators wait for theirs.
class ParameterGather {
 public:
  ParameterGather(const RunSpec& run, const Buckets& buckets, PassBuilder& pass);
  void before(PassBuilder& pass);  // the next operator, in forward order, is about to start

 private:
  const Buckets& buckets_;
  std::vector<std::int32_t> op_of_bucket_;
  std::size_t left_;  // units not yet passed
};

}  // namespace shardsim
