// Which operations an operation waits for, found while walking a program in order.
//
// An operation waits for the one before it on its stream, for its deps, and for the last one before
// it on each stream that it joins: streams are first in, first out, so the last ended means all.
// An operation may stand as the last one on further streams (LoweredOp::stands_on) without having
// waited for what was there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "lowering/lowered.h"

namespace shardsim {

class DependencyWalk {
 public:
  DependencyWalk() { tails_.fill(-1); }

  // Predecessors of the next operation, rising, each once. `first_op` is the number of the first
  // operation of its pass. Valid until the next call.
  const std::vector<std::int32_t>& predecessors(const LoweredTemplate& lowered, const LoweredOp& op,
                                                std::int32_t first_op) {
    found_.clear();
    if (op.stream != kNoStream) {
      add(tails_[static_cast<std::size_t>(op.stream)]);
    }
    for (std::int32_t i = 0; i < op.dep_count; ++i) {
      add(first_op + at(lowered.deps, op.first_dep + i));
    }
    for (std::size_t joined = 0; joined < tails_.size() && op.join >> joined != 0; ++joined) {
      if ((op.join >> joined & 1U) != 0) {
        add(tails_[joined]);
      }
    }
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return found_;
  }

  void enqueue(const LoweredOp& op, std::int32_t index) {
    tails_[static_cast<std::size_t>(op.stream)] = index;
    for (std::size_t stream = 0; op.stands_on >> stream != 0; ++stream) {
      if ((op.stands_on >> stream & 1U) != 0) {
        tails_[stream] = index;
      }
    }
  }

 private:
  void add(std::int32_t op) {
    if (op >= 0) {
      found_.push_back(op);
    }
  }

  std::array<std::int32_t, 8 * sizeof(StreamMask)> tails_{};  // last enqueued, -1 = none
  std::vector<std::int32_t> found_;
};

}  // namespace shardsim
