// Matrix products measured on one GPU with one software stack, as ratios to their roofline, and prices from
// them.
//
// The table holds what was measured, on a grid of m, n and k of which any (n, k) pair may be missing. Bound
// to a GPU (GemmPrices) it becomes a complete grid of times:
//   a missing m of a measured pair      linear in log ratio over log m
//   a missing pair                      linear in log ratio over log n at its k and over log k at its n, both
//                                       weighed by 1 / (distance to one neighbour x distance to the other);
//                                       with neighbours on one side alone the nearest pair, scaled by
//                                       roofline + shortest time of the table
//   knots far apart                     more between them, linear in log ratio: to a factor of 2, in m
//   of 1.42 bf16 and fp8                        time made ascending in n, k and aligned m (least squares)
// Between knots log time is linear in log m, log n and log k, which keeps it ascending. Aligned: m <= 16 or a
// multiple of 16. Aligned sizes are priced from aligned knots alone, others from all (a tile more is paid at
// m = 257, not at 512). Block-scaled fp8 is not made ascending: it is not, in truth.
// Another GPU than the measured one gets, at the knots, the measured card's time x the ratio of both cards'
// gemm_blend, and nothing shorter than the shortest measured time: a kernel does not get shorter with the
// card. Outside the grid: time at the border x (size / border)^exponent in each direction, exponents fitted:
// no jump at the border, and not less than the roofline (where the border is below it, not less than as far).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware.hpp"

namespace rollcast {

enum class GemmKind { bf16, fp8, fp8_block };  // fp8_block: scales per 1 x 128 and 128 x 128 block
std::string_view name_of(GemmKind kind);
std::optional<GemmKind> gemm_kind_of(std::string_view dtype);

// Data-sheet matrix rate. A card without fp8 computes at its bf16 rate.
FlopsPerSecond matrix_peak(Gpu const& gpu, GemmKind kind);

// y[m,n] = x[m,k] W[n,k]^T at the data sheet: max(2mnk / peak, bytes / bandwidth). Operands have 2 bytes an
// element (1 in fp8), the result 2.
Seconds gemm_roofline(Gpu const& gpu, GemmKind kind, double m, double n, double k);

// gemm_roofline with a rounded ridge, (bytes^3 + (1.5 x FLOPs)^3)^(1/3) of the same two times: near the ridge
// both limits are felt, and a product whose FLOPs take two thirds as long as its bytes is in the middle of
// it. 1.5 and 3 stand on a broad plateau (1.5-1.8, 2-4) that is the same from A100 to H100 as from H100 to
// A100; in both directions they bring the median error of a carried price from 13 to 10.5 % and its p90 from
// 44 to 30 % (33 to 27 %).
Seconds rounded_ridge(Seconds flops, Seconds bytes);  // (flops^3 + bytes^3)^(1/3)
Seconds gemm_blend(Gpu const& gpu, GemmKind kind, double m, double n, double k);

struct GemmTable {
  GemmKind kind = GemmKind::bf16;
  std::vector<double> m, n, k;           // knots, ascending
  std::vector<double> log_ratio;         // [n][k][m]: log(time / roofline); NaN: not measured
  std::array<double, 3> below{0, 0, 0};  // exponents of m, n, k below the grid
  std::array<double, 3> above{1, 1, 1};  // and above it
  // The card that was measured; null: the one that is priced.
  std::shared_ptr<Gpu const> measured_on;

  double& at(std::size_t in, std::size_t ik, std::size_t im) {
    return log_ratio[(in * k.size() + ik) * m.size() + im];
  }
  double at(std::size_t in, std::size_t ik, std::size_t im) const {
    return log_ratio[(in * k.size() + ik) * m.size() + im];
  }
};

// Header lines (kind, knots, exponents, scale), then a line "n k codes" per measured pair, codes over m
// (models/table_text.hpp).
std::string to_text(GemmTable const& t);
Parsed<GemmTable> gemm_table_from(std::string_view text);

class GemmPrices {
 public:
  GemmPrices() = default;
  // Throws std::logic_error for a table without a measured value.
  GemmPrices(GemmTable const& table, Gpu const& gpu) : GemmPrices(table, gpu, gpu) {}
  GemmPrices(GemmTable const& table, Gpu const& measured_on, Gpu const& gpu);

  bool empty() const { return all_.log_time.empty(); }
  // m, n, k > 0, also fractions (expected tokens of an expert).
  Seconds at(double m, double n, double k) const;
  bool covers(double m, double n, double k) const;  // inside the grid

 private:
  struct Axis {
    std::vector<double> knots;
    std::vector<double> log;  // of the knots
    double below = 0;
    double above = 1;
  };
  struct Place {
    std::size_t low;  // index of the knot below
    std::size_t high;
    double weight;  // of the one above
  };
  struct Grid {
    Axis m;
    std::vector<double> log_time;  // [n][k][m]
  };
  static Place place(Axis const& axis, double value, double& log_factor);

  Gpu gpu_;
  GemmKind kind_ = GemmKind::bf16;
  Axis n_, k_;
  Grid all_;      // all knots of m
  Grid aligned_;  // the aligned ones
};

// The same for a single price; a caller with many keeps a GemmPrices.
Seconds price(GemmTable const& table, Gpu const& gpu, double m, double n, double k);

}  // namespace rollcast
