// Strong units: a quantity is a double tagged with its exponents of bytes, flops and seconds, so that
// Bytes / BytesPerSecond *is* Seconds and a wrong unit does not compile.
//
// Base units: bytes, floating-point operations (a multiply-add is two), seconds. GB is 1e9 bytes, GiB is
// 2^30, Gb is 1e9 bits. Text form (parse_quantity): a number, optional blank, a unit: "400 Gb/s", "80 GiB",
// "600 s"; a bare number is refused, the error names the units that are possible.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace rollcast {

template <int B, int F, int S>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}

  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value -= o.value;
    return *this;
  }
  constexpr Quantity& operator*=(double k) {
    value *= k;
    return *this;
  }
  constexpr Quantity& operator/=(double k) {
    value /= k;
    return *this;
  }
  constexpr Quantity operator-() const { return Quantity(-value); }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(a.value * k); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value / k); }
  friend constexpr bool operator<(Quantity a, Quantity b) { return a.value < b.value; }
  friend constexpr bool operator>(Quantity a, Quantity b) { return a.value > b.value; }
  friend constexpr bool operator<=(Quantity a, Quantity b) { return a.value <= b.value; }
  friend constexpr bool operator>=(Quantity a, Quantity b) { return a.value >= b.value; }
};

// The product or quotient of two quantities; a plain double once every exponent cancels.
template <int B, int F, int S>
constexpr auto make_quantity(double v) {
  if constexpr (B == 0 && F == 0 && S == 0) {
    return v;
  } else {
    return Quantity<B, F, S>(v);
  }
}
template <int B1, int F1, int S1, int B2, int F2, int S2>
constexpr auto operator*(Quantity<B1, F1, S1> a, Quantity<B2, F2, S2> b) {
  return make_quantity<B1 + B2, F1 + F2, S1 + S2>(a.value * b.value);
}
template <int B1, int F1, int S1, int B2, int F2, int S2>
constexpr auto operator/(Quantity<B1, F1, S1> a, Quantity<B2, F2, S2> b) {
  return make_quantity<B1 - B2, F1 - F2, S1 - S2>(a.value / b.value);
}

using Bytes = Quantity<1, 0, 0>;
using Flops = Quantity<0, 1, 0>;
using Seconds = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<1, 0, -1>;
using FlopsPerSecond = Quantity<0, 1, -1>;

constexpr Bytes bytes(double v) { return Bytes(v); }
constexpr Bytes KiB(double v) { return Bytes(v * 1024.0); }
constexpr Bytes MiB(double v) { return Bytes(v * 1024.0 * 1024.0); }
constexpr Bytes GiB(double v) { return Bytes(v * 1024.0 * 1024.0 * 1024.0); }
constexpr Bytes MB(double v) { return Bytes(v * 1e6); }
constexpr Bytes GB(double v) { return Bytes(v * 1e9); }
constexpr BytesPerSecond GB_per_s(double v) { return BytesPerSecond(v * 1e9); }
constexpr BytesPerSecond Gb_per_s(double v) { return BytesPerSecond(v * 1e9 / 8.0); }
constexpr BytesPerSecond TB_per_s(double v) { return BytesPerSecond(v * 1e12); }
constexpr FlopsPerSecond TFLOPs(double v) { return FlopsPerSecond(v * 1e12); }
constexpr Seconds seconds(double v) { return Seconds(v); }
constexpr Seconds ms(double v) { return Seconds(v * 1e-3); }
constexpr Seconds us(double v) { return Seconds(v * 1e-6); }

template <int B, int F, int S>
constexpr Quantity<B, F, S> max(Quantity<B, F, S> a, Quantity<B, F, S> b) {
  return a < b ? b : a;
}
template <int B, int F, int S>
constexpr Quantity<B, F, S> min(Quantity<B, F, S> a, Quantity<B, F, S> b) {
  return b < a ? b : a;
}

// Result of reading a quantity from text: a value, or an error that names the possible units.
template <class Q>
struct Parsed {
  std::optional<Q> value;
  std::string error;  // empty when value is set
};

// Q is Bytes, Seconds, BytesPerSecond or FlopsPerSecond.
// Bytes: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Seconds: ns, us, ms, s, min, h.
// BytesPerSecond: B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, Mb/s, Gb/s, Tb/s.
// FlopsPerSecond: GFLOP/s, TFLOP/s, PFLOP/s (also with FLOPs and FLOPS/s spellings).
template <class Q>
Parsed<Q> parse_quantity(std::string_view text);

// Text for people, three significant digits: memory in GiB/MiB/KiB, rates in GB/s, time in us/ms/s/min/h.
std::string format(Bytes b);
std::string format(Seconds s);
std::string format(BytesPerSecond r);
std::string format(FlopsPerSecond r);

// Round trip form: a text that parse_quantity reads back to the same value.
template <class Q>
std::string exact_text(Q q);

}  // namespace rollcast
