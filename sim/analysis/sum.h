// A sum of many doubles that keeps what each addition rounds away (Neumaier 1974), so that bins of
// a hundred thousand operations still sum to the step.
#pragma once

#include <cmath>

namespace shardsim {

class Sum {
 public:
  void add(double value) {
    const double next = sum_ + value;
    lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - next) + value : (value - next) + sum_;
    sum_ = next;
  }
  [[nodiscard]] double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

}  // namespace shardsim
