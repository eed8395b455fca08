// A curve within a tolerance of a function that is costly to ask.
#pragma once

#include "models/step_prices.hpp"

namespace rollcast {

// Chords of f from 1 to `last` over counts that are multiples of a tile (below one tile: every count). Powers
// of two first, so that a bend between two distant counts cannot hide; a chord that leaves f by more than 0.3
// % at a quarter point is halved.
template <class F>
class CurveFit {
 public:
  CurveFit(F const& f, double tile) : f_(f), tile_(tile) {}

  // f may jump between `jump` and `jump` + 1.
  Curve from_one_to(double last, double jump = 0) {
    curve_ = {{1}, {f_(1)}};
    if (jump >= 1 && jump + 1 < last) {
      chords_to(jump);
      curve_.x.push_back(jump + 1);
      curve_.y.push_back(f_(jump + 1));
    }
    chords_to(last);
    return curve_;
  }

 private:
  void chords_to(double last) {
    while (curve_.x.back() < last) {
      double const a = curve_.x.back();
      double const b = 2 * a < last ? 2 * a : last;
      add(a, b, curve_.y.back(), f_(b));
    }
  }

  void add(double a, double b, double fa, double fb) {
    double const middle = aligned((a + b) / 2);
    if (middle > a && bends(a, b, fa, fb)) {
      double const value = f_(middle);
      add(a, middle, fa, value);
      add(middle, b, value, fb);
      return;
    }
    curve_.x.push_back(b);
    curve_.y.push_back(fb);
  }

  double aligned(double count) const {
    auto const tiles = static_cast<std::int64_t>(count / tile_);
    return count <= tile_ ? static_cast<double>(static_cast<std::int64_t>(count))
                          : static_cast<double>(tiles) * tile_;
  }

  bool bends(double a, double b, double fa, double fb) const {
    constexpr double kTolerance = 0.003;
    for (double const share : {0.25, 0.5, 0.75}) {
      double const x = aligned(a + (b - a) * share);
      if (x <= a || x >= b) continue;
      double const exact = f_(x);
      double const off = fa + (fb - fa) * ((x - a) / (b - a)) - exact;
      if ((off < 0 ? -off : off) > kTolerance * exact) return true;
    }
    return false;
  }

  F const& f_;
  double tile_;
  Curve curve_;
};

}  // namespace rollcast
