// Data-parallel synchronisation by bucket: gradients reduced, parameters of ZeRO 1 and 2 gathered.
//
// Weights fill buckets in backward order, an operator's weights together, experts' weights and all
// others apart: they are summed over edp, the others over dp and cp. A bucket is closed once
// it holds `limit` parameters. Limits as in Megatron (megatron/core/distributed/
// distributed_data_parallel.py): max(40 M, 1 M * dp * cp) parameters in the chunk that has the
// embedding, one bucket per chunk elsewhere and where nothing overlaps; a bucket size that the user
// states holds everywhere. Gradients that are reduced after each micro batch fill buckets of that
// size everywhere, for a bucket is all that is held of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workload/data_sync.h"
#include "workload/pass_builder.h"

namespace shardsim {

// One per operator, in backward order.
struct GradientUnit {
  std::int64_t parameters = 0;  // local
  bool expert = false;
};
using GradientUnits = std::vector<GradientUnit>;

struct Bucket {
  std::int64_t parameters = 0;
  bool expert = false;
  std::size_t last_unit = 0;
  [[nodiscard]] LocalParameters local() const {
    return expert ? LocalParameters{.expert = parameters} : LocalParameters{.dense = parameters};
  }
};

struct Buckets {
  std::vector<std::int32_t> bucket_of_unit;
  std::vector<Bucket> buckets;  // by first unit
};

// The order in which forward needs the buckets' weights.
[[nodiscard]] std::vector<std::size_t> gather_order(const Buckets& buckets);

// Parameters that close a bucket of a chunk; none = never. `first`: it has the embedding.
[[nodiscard]] std::optional<std::int64_t> bucket_limit(const RunSpec& run, bool first);
[[nodiscard]] Buckets fill_buckets(const GradientUnits& units, std::optional<std::int64_t> limit);

// Walks the units of a chunk in backward order and reduces each bucket beside what follows.
class GradientSync {
 public:
  GradientSync(const RunSpec& run, const Buckets& buckets)
      : run_(run), buckets_(buckets), taken_(buckets.buckets.size(), false) {}
  void ready(PassBuilder& pass);  // the next unit's gradients are complete
  void done(PassBuilder& pass);   // all are; without overlap compute waits for the reductions

 private:
  const RunSpec& run_;
  const Buckets& buckets_;
  std::size_t unit_ = 0;
  std::vector<bool> taken_;  // per bucket: memory is taken for it
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
