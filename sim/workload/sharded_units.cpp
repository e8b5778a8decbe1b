#include "workload/sharded_units.h"

#include <algorithm>

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

const std::string kGathered = "gathered weights";
const std::string kUnreduced = "gradients to be reduced";

}  // namespace

ShardedUnits::ShardedUnits(const RunSpec& run, std::vector<LocalParameters> parameters,
                           std::vector<UnitSegment> segments, PassSync sync)
    : run_(run), segments_(std::move(segments)), sync_(sync) {
  for (const LocalParameters& held : parameters) {
    units_.push_back({.parameters = held});
  }
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    for (const std::int32_t index : segments_[i].units) {
      Unit& unit = at(units_, index);
      unit.last_use = i;
      if (segments_[i].gradients) {
        unit.last_gradients = i;
      }
    }
  }
}

bool ShardedUnits::wants_gather(const Unit& unit) const {
  return sync_.gathers && unit.gather < 0 && gathered_weights(run_, unit.parameters) > Bytes{0};
}

void ShardedUnits::gather(Unit& unit, const std::vector<std::int32_t>& deps, StreamMask join,
                          PassBuilder& pass) {
  for (const Communication& communication : parameter_gather(run_, unit.parameters)) {
    unit.gather = pass.communicate_freely(Stream::dp, Category::dp, communication, deps, join);
    pass.take(communication.bytes, unit.gather, kGathered);
  }
}

void ShardedUnits::begin(PassBuilder& pass) {
  if (segments_.empty()) {
    return;
  }
  for (const std::int32_t index : segments_.front().units) {
    if (wants_gather(at(units_, index))) {
      gather(at(units_, index), {}, mask(Stream::compute), pass);
    }
  }
}

// The first segment further on that uses other units than this one; none of them may be missing
// before it.
void ShardedUnits::prefetch(const std::vector<std::int32_t>& deps, PassBuilder& pass) {
  if (!run_.training.overlap.param_gather) {
    return;
  }
  for (std::size_t i = next_ + 1; i < segments_.size(); ++i) {
    if (segments_[i].units == segments_[next_].units) {
      continue;
    }
    for (const std::int32_t index : segments_[i].units) {
      if (wants_gather(at(units_, index))) {
        gather(at(units_, index), deps, 0, pass);
      }
    }
    return;
  }
}

void ShardedUnits::enter(PassBuilder& pass) {
  if (segments_.empty()) {
    return;
  }
  SHARDSIM_CHECK(next_ < segments_.size(), "more segments than the pass has");
  std::vector<std::int32_t> deps;
  if (pass.last_compute() >= 0) {
    deps.push_back(pass.last_compute());
  }
  for (const std::int32_t index : segments_[next_].units) {
    Unit& unit = at(units_, index);
    if (wants_gather(unit)) {
      gather(unit, deps, 0, pass);
    }
    if (unit.gather >= 0 && !unit.waited) {
      pass.wait(unit.gather);
      unit.waited = true;
    }
  }
  prefetch(deps, pass);
  if (!segments_[next_].gradients || !sync_.reduces || !reduces_each_micro_batch(run_)) {
    return;
  }
  for (const std::int32_t index : segments_[next_].units) {
    Unit& unit = at(units_, index);
    if (!unit.has_gradients) {
      pass.take(whole_gradients(run_, unit.parameters), pass.next_op(), kUnreduced);
      unit.has_gradients = true;
    }
  }
}

void ShardedUnits::reduce(const Unit& unit, PassBuilder& pass) {
  std::int32_t op = -1;
  for (const Communication& sum : gradient_reduce(run_, unit.parameters)) {
    op = pass.communicate_freely(Stream::dp, Category::dp, sum, {pass.last_compute()});
  }
  if (op < 0) {
    return;  // no other rank has any of it
  }
  if (unit.has_gradients) {
    pass.give(whole_gradients(run_, unit.parameters), op, kUnreduced);
  }
  if (!run_.training.overlap.grad_reduce) {
    pass.wait(op);
  }
}

void ShardedUnits::leave(PassBuilder& pass) {
  if (segments_.empty()) {
    return;
  }
  const UnitSegment& segment = at(segments_, next_);
  for (const std::int32_t index : segment.units) {
    const Unit& unit = at(units_, index);
    if (unit.parameters.total() == 0) {
      continue;
    }
    if (sync_.releases && unit.last_use == next_) {
      pass.give(gathered_weights(run_, unit.parameters), pass.last_compute(), kGathered);
    }
    if (sync_.reduces && segment.gradients && unit.last_gradients == next_) {
      reduce(unit, pass);
    }
  }
  ++next_;
}

}  // namespace shardsim
