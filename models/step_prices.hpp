// What one step of a rollout engine costs, as plain tables: the rollout engine reads only this.
//
//   step = fixed + per_sequence x sequences + dense(tokens) + decode_attention(batch, mean context)
//        + sum over prefill chunks of max(prefill(pairs of a + n) - prefill(pairs of a), prefill(pairs of n),
//                                         chunk_read x (a + n))
//
// tokens: all tokens of the step (one per decoding sequence, plus the prefill chunks); sequences: all
// scheduled sequences; batch, mean context: of the decoding sequences only (context includes the token being
// written). A chunk is n tokens after a computed ones; l tokens have l (l + 1) / 2 causal (query, key) pairs.
// Tables must not make a step take negative time, also where their lines go on beyond the knots.
#pragma once

#include <cstdint>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

// Piecewise linear through (x[i], y[i]), x ascending; outside it continues with the slope of the end segment.
// One knot: constant. No knot: 0.
struct Curve {
  std::vector<double> x;
  std::vector<double> y;

  double at(double v) const;
};

struct StepPrices {
  Seconds fixed;
  Seconds per_sequence;
  Curve dense;  // seconds over tokens: GEMMs, norms, collectives of all layers, lm_head
  // Attention of decoding, all layers: seconds at batch_knots[i], context_knots[j] = decode_attention[i][j].
  // Linear in the context between knots and beyond the last; linear in the batch likewise; 0 at batch 0.
  // No knots: 0.
  std::vector<double> batch_knots;
  std::vector<double> context_knots;
  std::vector<std::vector<double>> decode_attention;
  Curve prefill;          // attention of one prompt, all layers: seconds over its pairs; starts at 0 pairs
  double chunk_read = 0;  // seconds per token of K and V that a chunk reads, all layers
};

// Causal (query, key) pairs of `tokens` tokens.
double causal_pairs(double tokens);

// Throws std::logic_error unless knots ascend strictly, are not negative, and the tables have their sizes.
void check(StepPrices const& p);

// The attention row of one batch size: seconds over the mean context.
Curve decode_curve(StepPrices const& p, double batch);

// Sum of curve.at(c0 + i) for i = 0 .. steps-1, in closed form: one arithmetic series per segment.
double sum_over_contexts(Curve const& curve, double c0, std::int64_t steps);

}  // namespace rollcast
