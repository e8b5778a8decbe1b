// Comparing sums and times whose last bits depend on the order of additions.
#pragma once

#include <cmath>

namespace shardsim {

// Ends of operations that lie within this part of the step are simultaneous: which of them bound
// what followed is then decided by rule, not by rounding.
inline constexpr double kSimultaneous = 1e-9;

// The value without what rounding may have left in it: 33 of its 53 bits, 1e-10 of it. For sorting,
// so that what is equal but for rounding stays in its given order.
[[nodiscard]] inline double without_rounding(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, 33)), exponent - 33);
}

}  // namespace shardsim
