// The expert MLP of a mixture on one rank (routed tokens through gate, up and down; no all-to-all), measured
// on one GPU with one software stack by shape, cut and tokens, and prices from it.
//
// The table holds log(time / (shortest time of the table + roofline)). Bound to a GPU and a shape (MoePrices)
// it becomes times over tokens:
//   tokens not measured of a shape   linear in log ratio over log tokens; beyond the ends it stays
//   a cut not measured               between two measured ones of the same experts with the same ep, linear
//   in
//                                    log ratio over log tp, and likewise over log ep with the same tp; the
//                                    mean of both where both exist
//   other shapes                     the four nearest, weighed by 1 / distance^2, distance^2 = sum of squared
//                                    differences of the logs of hidden, intermediate / tp, experts / ep,
//                                    top_k, and 0.3 of those of ep and experts
//   made ascending in tokens (least squares)
// Between knots log time is linear in log tokens; beyond the last it grows as tokens do, below the first it
// stays. Another GPU than the measured one gets, at the knots, the measured card's time x the ratio of both
// cards' moe_blend, and nothing shorter than the shortest time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/gemm_table.hpp"
#include "models/hardware.hpp"

namespace rollcast {

struct MoeShape {
  double hidden = 1;
  double intermediate = 1;  // of one expert, before tp
  double experts = 1;       // of the layer, before ep
  double top_k = 1;
  double tp = 1;
  double ep = 1;
};

struct MoeTable {
  GemmKind kind = GemmKind::bf16;
  std::string distribution;       // of tokens over experts: "balanced", "power_law_1.2"; one word
  Seconds shortest;               // of all measured times
  std::vector<double> tokens;     // knots, ascending: of all ranks that share the experts
  std::vector<MoeShape> shapes;   // measured
  std::vector<double> log_ratio;  // [shape][tokens]; NaN: not measured
  // The card that was measured; null: the one that is priced.
  std::shared_ptr<Gpu const> measured_on;
};

// max(FLOPs / peak, bytes / bandwidth) of the balanced case, a = tokens x top_k / ep arrivals:
// 6 a hidden intermediate / tp FLOP; weights 3 hidden intermediate / tp of the (1 - (1 - top_k /
// experts)^tokens) x experts / ep experts that tokens reach, 2 B (fp8: 1 B) an element; activations 2 B each,
// a (2 hidden + 3 intermediate / tp) + 2 tokens hidden.
Seconds moe_roofline(Gpu const& gpu, GemmKind kind, MoeShape const& s, double tokens);

// The roofline with a rounded ridge, as gemm_blend, with 2 in place of 1.5 (grouped products reach less of
// the peak: 2 is better than 1.5 from A100 to H100 and from H100 to A100), + 5 % of the shortest time.
Seconds moe_blend(Gpu const& gpu, MoeTable const& t, MoeShape const& s, double tokens);

// Header lines (kind, distribution, shortest time in s, knots, scale), then a line "hidden intermediate
// experts top_k tp ep codes" for each shape, codes over tokens (models/table_text.hpp).
std::string to_text(MoeTable const& t);
Parsed<MoeTable> moe_table_from(std::string_view text);

class MoePrices {
 public:
  MoePrices() = default;
  // Throws std::logic_error for a table without a measured value or a shape that is not above 0.
  MoePrices(MoeTable const& table, Gpu const& gpu, MoeShape const& shape)
      : MoePrices(table, gpu, gpu, shape) {}
  MoePrices(MoeTable const& table, Gpu const& measured_on, Gpu const& gpu, MoeShape const& shape);

  bool empty() const { return log_time_.empty(); }
  Seconds at(double tokens) const;  // 0 for no tokens

 private:
  std::vector<double> log_tokens_;
  std::vector<double> log_time_;
};

// The same for a single price; a caller with many keeps a MoePrices.
Seconds price(MoeTable const& table, Gpu const& gpu, MoeShape const& shape, double tokens);

}  // namespace rollcast
