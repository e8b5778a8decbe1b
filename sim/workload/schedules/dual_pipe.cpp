// DualPipe: DeepSeek-V3 (arXiv 2412.19437 section 3.2.1, figures 4 and 5, table 2); the order is
// that of github.com/deepseek-ai/DualPipe, steps 1 to 8.
//
// Micro batches enter at both ends. Stage i holds two parts of the model: chunk 0 is part i, whose
// forwards run from stage 0 to p - 1, chunk 1 is part p - 1 - i, whose forwards run from p - 1 to
// 0. Micro batches 0 .. m/2 - 1 go through chunk 0, m/2 .. m - 1 through chunk 1. Stage p - 1 - i
// does what stage i does with the directions exchanged.
//
//   p 4, m 8 (small letters: chunk 0; capitals: chunk 1; f forward, b backward, w its weight pass;
//   [ ] run as one: a full backward, or a forward under a full backward)
//   stage 0  f0 f1 f2 F4 B4 W4 F5 [f3 B5 W5] [F6 b0 w0] [B6 W6] [F7 b1 w1] [B7 W7] b2 w2 b3 w3
//   stage 1  f0 F4 f1 F5 f2 [B4 W4] [F6 b0 w0] [f3 B5 W5] [F7 b1 w1] [B6 W6] [b2 w2] B7 b3 W7 w3
//
// Only some backwards are split: where W fills a gap. A stage holds at most p + 1 activations, from
// F to W, of a p-th of the model each; and the weights of two parts. Idle time of a middle stage,
// the most, for equal stages without communication, f = b >= w (as the table assumes):
//   (p/2 - 1)(f&b + (b + w) - 3w)     f&b: the time of a pair, f + b + w if nothing overlaps
// In general w <= b <= f gives (p/2 - 1)(f&b + f - 2w) here, which is the same if f = b.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "workload/schedules/schedules.h"

namespace shardsim {
namespace {

class DualPipe {
 public:
  explicit DualPipe(const ScheduleInput& input)
      : half_(input.micro_batches / 2), mirrored_(input.stage >= input.stages / 2) {}

  // `side` 0 is the direction whose entry is nearer to this stage.
  void forward(std::int32_t side, bool with_next = false) {
    const std::int32_t chunk = chunk_of(side);
    add({PassKind::forward, micro_batch(chunk, forwards_), chunk, with_next});
  }
  void full_backward(std::int32_t side) {
    const std::int32_t chunk = chunk_of(side);
    const std::int32_t micro = micro_batch(chunk, backwards_);
    add({PassKind::backward, micro, chunk, true});
    add({PassKind::weight, micro, chunk});
  }
  void split_backward(std::int32_t side) {
    const std::int32_t chunk = chunk_of(side);
    const ScheduledPass pass{PassKind::backward, micro_batch(chunk, backwards_), chunk};
    add(pass);
    waiting_.push_back({PassKind::weight, pass.micro_batch, chunk});
  }
  void backward(std::int32_t side, bool split) {
    if (split) {
      split_backward(side);
    } else {
      full_backward(side);
    }
  }
  void weight() { add(waiting_.at(next_waiting_++)); }  // in the order of their B
  void pair(std::int32_t forward_side, std::int32_t backward_side) {
    forward(forward_side, true);
    full_backward(backward_side);
  }
  [[nodiscard]] std::vector<ScheduledPass> take() { return std::move(passes_); }

 private:
  [[nodiscard]] std::int32_t chunk_of(std::int32_t side) const {
    return mirrored_ ? 1 - side : side;
  }
  [[nodiscard]] std::int32_t micro_batch(std::int32_t chunk, std::int32_t (&counts)[2]) const {
    return chunk * half_ + counts[chunk]++;
  }
  void add(const ScheduledPass& pass) { passes_.push_back(pass); }

  std::int32_t half_;
  bool mirrored_;
  std::int32_t forwards_[2] = {0, 0};
  std::int32_t backwards_[2] = {0, 0};
  std::vector<ScheduledPass> waiting_;
  std::size_t next_waiting_ = 0;
  std::vector<ScheduledPass> passes_;
};

// `outer`: how many stages lie between this one and the nearer end, `inner`: and the middle.
void fill(DualPipe& order, std::int32_t outer, std::int32_t inner) {
  for (std::int32_t i = 0; i < 2 * inner; ++i) {
    order.forward(0);
  }
  for (std::int32_t i = 0; i <= outer; ++i) {
    order.forward(0);
    order.forward(1);
  }
  for (std::int32_t i = 0; i < inner; ++i) {
    order.split_backward(1);
    order.weight();
    order.forward(1);
  }
}

void steady(DualPipe& order, std::int32_t rounds, std::int32_t inner) {
  for (std::int32_t i = 0; i < rounds; ++i) {
    if (i == 0 && inner == 0) {  // a middle stage: its first backward is what all others wait for
      order.forward(0);
      order.full_backward(1);
    } else {
      order.pair(0, 1);
    }
    order.pair(1, 0);
  }
}

void drain(DualPipe& order, std::int32_t outer, std::int32_t inner) {
  for (std::int32_t i = 0; i < inner; ++i) {
    order.full_backward(1);
    order.pair(1, 0);
  }
  // Of these 2(outer + 1) backwards the last outer + 1 leave their W for the gaps at the end.
  for (std::int32_t i = 0; i <= outer; ++i) {
    order.backward(1, 2 * i >= outer + 1);
    order.backward(0, 2 * i + 1 >= outer + 1);
  }
  for (std::int32_t i = 0; i < inner; ++i) {
    order.weight();
    order.split_backward(0);
  }
  for (std::int32_t i = 0; i <= outer; ++i) {
    order.weight();
  }
}

}  // namespace

std::vector<ScheduledPass> dual_pipe_passes(const ScheduleInput& input) {
  const std::int32_t p = input.stages;
  const std::int32_t outer = std::min(input.stage, p - 1 - input.stage);
  const std::int32_t inner = p / 2 - 1 - outer;
  DualPipe order(input);
  fill(order, outer, inner);
  steady(order, input.micro_batches / 2 - p + outer + 1, inner);
  drain(order, outer, inner);
  return order.take();
}

std::string dual_pipe_objection(const ScheduleInput& input) {
  const std::int32_t m = input.micro_batches;
  const std::int32_t p = input.stages;
  if (input.chunks > 1) {
    return "its stages hold two parts of the model, one per direction, and no chunks; use vpp 1";
  }
  if (p % 2 != 0) {
    return fmt::format("{} cannot be paired from both ends; use {}{}", counted(p, "stage"),
                       p > 1 ? fmt::format("{} or ", p - 1) : "", p + 1);
  }
  if (m < 2 * p) {
    return fmt::format("{} {} fill {} from both ends; use {} or more", counted(m, "micro batch"),
                       do_not(m), counted(p, "stage"), 2 * p);
  }
  return m % 2 == 0 ? ""
                    : fmt::format("{} do not split in halves; use {} or {}",
                                  counted(m, "micro batch"), m - 1, m + 1);
}

}  // namespace shardsim
