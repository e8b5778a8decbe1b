#include "workload/gradient_sync.h"

#include <algorithm>

#include "base/errors.h"

namespace shardsim {
namespace {

const std::string kUnreduced = "gradients to be reduced";

}  // namespace

std::optional<std::int64_t> bucket_limit(const RunSpec& run, bool first) {
  if (!run.training.overlap.grad_reduce) {
    return std::nullopt;
  }
  if (run.training.grad_bucket) {
    return std::max<std::int64_t>(
        1, run.training.grad_bucket->value() / element_bytes(run.training.grad_dtype));
  }
  if (!first && !reduces_each_micro_batch(run)) {
    return std::nullopt;
  }
  return std::max<std::int64_t>(40'000'000, 1'000'000 * data_ranks(run));
}

Buckets fill_buckets(const GradientUnits& units, std::optional<std::int64_t> limit) {
  Buckets buckets;
  std::int64_t held = 0;
  for (const std::int64_t parameters : units) {
    if (buckets.parameters.empty() || (limit && held >= *limit)) {
      buckets.parameters.push_back(0);
      held = 0;
    }
    held += parameters;
    buckets.parameters.back() += parameters;
    buckets.bucket_of_unit.push_back(count(buckets.parameters) - 1);
  }
  // Operators without weights may trail into a bucket of their own: they need nothing.
  if (buckets.parameters.size() > 1 && buckets.parameters.back() == 0) {
    buckets.parameters.pop_back();
    for (std::int32_t& bucket : buckets.bucket_of_unit) {
      bucket = std::min(bucket, count(buckets.parameters) - 1);
    }
  }
  return buckets;
}

void GradientSync::ready(PassBuilder& pass) {
  SHARDSIM_CHECK(unit_ < buckets_.bucket_of_unit.size(), "more gradients than weights");
  const std::int32_t bucket = buckets_.bucket_of_unit[unit_];
  ++unit_;
  const std::int64_t parameters = at(buckets_.parameters, bucket);
  if (parameters == 0) {
    return;
  }
  const std::vector<Communication> sums = gradient_reduce(run_, parameters);
  const bool held = reduces_each_micro_batch(run_);  // else gradients are there all the step long
  if (held && bucket != held_) {
    pass.take(sums.front().bytes, pass.last_compute(), kUnreduced);
    held_ = bucket;
  }
  if (unit_ < buckets_.bucket_of_unit.size() && buckets_.bucket_of_unit[unit_] == bucket) {
    return;
  }
  std::int32_t op = -1;
  for (const Communication& sum : sums) {
    op = pass.communicate_freely(Stream::dp, Category::dp, sum, {pass.last_compute()});
  }
  if (held) {
    pass.give(sums.front().bytes, op, kUnreduced);
  }
}

void GradientSync::done(PassBuilder& pass) {
  if (!run_.training.overlap.grad_reduce) {
    pass.host(Stream::compute, "gradients reduced", 0, mask(Stream::dp));
  }
}

ParameterGather::ParameterGather(const RunSpec& run, const Buckets& buckets, PassBuilder& pass)
    : buckets_(buckets),
      op_of_bucket_(buckets.parameters.size(), -1),
      left_(buckets.bucket_of_unit.size()) {
  for (std::size_t bucket = buckets.parameters.size(); bucket-- > 0;) {
    if (buckets.parameters[bucket] > 0) {
      op_of_bucket_[bucket] = pass.communicate_freely(
          Stream::dp, Category::dp, parameter_gather(run, buckets.parameters[bucket]));
    }
  }
}

void ParameterGather::before(PassBuilder& pass) {
  SHARDSIM_CHECK(left_ > 0, "more operators than units");
  --left_;
  std::int32_t& op = at(op_of_bucket_, buckets_.bucket_of_unit[left_]);
  if (op >= 0) {
    pass.wait(op);
    op = -1;  // what follows on the compute stream has waited too
  }
}

}  // namespace shardsim
