// Physical quantities as types: a value of one unit cannot be passed where another is meant.
//
// Bytes counts exactly (64-bit integer); times, rates and FLOP are doubles. Only the quotients and
// products that make sense exist: Bytes / BytesPerSecond = Seconds, Flop / FlopPerSecond = Seconds.
//   Seconds t = Bytes{1'000'000} / BytesPerSecond{1e9};   // t.value() == 1e-3
#pragma once

#include <compare>
#include <cstdint>

namespace shardsim {

template <class Tag, class Rep>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator-(Quantity a) { return Quantity{-a.value_}; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) {
    return Quantity{a.value_ * factor};
  }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return a * factor; }
  friend constexpr Quantity operator/(Quantity a, Rep divisor) {
    return Quantity{a.value_ / divisor};
  }

 private:
  Rep value_{};
};

using Seconds = Quantity<struct SecondsTag, double>;
using Bytes = Quantity<struct BytesTag, std::int64_t>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using Flop = Quantity<struct FlopTag, double>;
using FlopPerSecond = Quantity<struct FlopPerSecondTag, double>;
using Watts = Quantity<struct WattsTag, double>;
using Dollars = Quantity<struct DollarsTag, double>;

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) {
  return Seconds{static_cast<double>(amount.value()) / rate.value()};
}
constexpr Seconds operator/(Flop work, FlopPerSecond rate) {
  return Seconds{work.value() / rate.value()};
}

}  // namespace shardsim
