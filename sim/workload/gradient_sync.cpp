#include "workload/gradient_sync.h"

#include <algorithm>
#include <array>
#include <numeric>

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
  Buckets result;
  std::array<std::int32_t, 2> open{-1, -1};  // bucket being filled, of experts and of all others
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    const GradientUnit& here = units[unit];
    std::int32_t& bucket = open[here.expert ? 1 : 0];
    if (bucket < 0 || (limit && at(result.buckets, bucket).parameters >= *limit)) {
      bucket = count(result.buckets);
      result.buckets.push_back({.expert = here.expert});
    }
    at(result.buckets, bucket).parameters += here.parameters;
    if (here.parameters > 0) {
      at(result.buckets, bucket).last_unit = unit;
    }
    result.bucket_of_unit.push_back(bucket);
  }
  return result;
}

// Forward needs last what backward had first.
std::vector<std::size_t> gather_order(const Buckets& buckets) {
  std::vector<std::size_t> order(buckets.buckets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return buckets.buckets[a].last_unit > buckets.buckets[b].last_unit;
  });
  return order;
}

void GradientSync::ready(PassBuilder& pass) {
  SHARDSIM_CHECK(unit_ < buckets_.bucket_of_unit.size(), "more gradients than weights");
  const auto index = static_cast<std::size_t>(buckets_.bucket_of_unit[unit_]);
  const Bucket& bucket = buckets_.buckets.at(index);
  const bool last = bucket.last_unit == unit_;
  ++unit_;
  if (bucket.parameters == 0 || data_ranks(run_, bucket.expert) == 1) {
    return;
  }
  const LocalParameters parameters = bucket.local();
  const bool held = reduces_each_micro_batch(run_);  // else gradients are there all the step long
  if (held && !taken_[index]) {
    pass.take(whole_gradients(run_, parameters), pass.last_compute(), kUnreduced);
    taken_[index] = true;
  }
  if (!last) {
    return;
  }
  std::int32_t op = -1;
  for (const Communication& sum : gradient_reduce(run_, parameters)) {
    op = pass.communicate_freely(Stream::dp, Category::dp, sum, {pass.last_compute()});
  }
  if (held) {
    pass.give(whole_gradients(run_, parameters), op, kUnreduced);
  }
}

void GradientSync::done(PassBuilder& pass) {
  if (!run_.training.overlap.grad_reduce) {
    pass.host(Stream::compute, "gradients reduced", 0, mask(Stream::dp));
  }
}

ParameterGather::ParameterGather(const RunSpec& run, const Buckets& buckets, PassBuilder& pass)
    : buckets_(buckets),
      op_of_bucket_(buckets.buckets.size(), -1),
      left_(buckets.bucket_of_unit.size()) {
  for (const std::size_t i : gather_order(buckets)) {
    for (const Communication& gather : parameter_gather(run, buckets.buckets[i].local())) {
      op_of_bucket_[i] = pass.communicate_freely(Stream::dp, Category::dp, gather);
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
