// Attention measured on one GPU with one software stack, by batch, length and head configuration, and prices
// from it: decode (one new token for each sequence of the batch, length = context) and prefill (causal
// forward over whole prompts, length = prompt).
//
// The table holds log(time / (shortest time of the table + roofline)). Bound to a GPU and a head
// configuration (AttentionPrices) it becomes a complete grid of times over batch and length:
//   a length not measured at a batch   the log ratio changes with the length as at the next smaller batch; at
//                                      the smallest batch it stays
//   a batch not measured               log ratios of the next smaller one (else of the next larger)
//   a head configuration not measured  between two measured ones with the same head_dim and kv_heads, linear
//   in
//                                      log ratio over log heads, and likewise over log kv_heads at the same
//                                      heads; both, where both exist, weighed by 1 / (distance to one x
//                                      distance to the other)
//   one that is not between any        the most similar one with the batch (decode: of kv heads, prefill: of
//                                      heads x head_dim) that is the same work; decode scales the context by
//                                      head_dim
//   made ascending in batch and length (least squares); decode is not below its roofline
// Time is linear in the batch between knots and beyond the last (in proportion to it where there is one
// knot). Over the length it is linear in decode, which gives sums over decode steps a closed form; in prefill
// it is c + k x work(length), work = causal pairs (in the window) over the matrix rate + bytes over
// bandwidth: c + k x length^2 where pairs dominate. Another GPU than the measured one gets, at the knots, the
// measured card's time x the ratio of both cards' (roofline + part of the shortest time), and nothing shorter
// than the shortest time: short kernels do not follow the rates. The part is 5 % in decode and 30 % in
// prefill; whole it makes the decode of H100 from A100 28 % too slow, nothing makes H100's shortest kernels
// 60 % longer on A100.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware.hpp"
#include "models/step_prices.hpp"

namespace rollcast {

enum class AttentionKind { decode, prefill };
std::string_view name_of(AttentionKind kind);

struct HeadShape {
  double heads = 1;
  double kv_heads = 1;
  double head_dim = 128;
};

struct AttentionTable {
  AttentionKind kind = AttentionKind::decode;
  double kv_bytes = 2;            // of one element of the KV cache
  double window = 0;              // sliding window in tokens; 0: full attention
  Seconds shortest;               // of all measured times
  std::vector<double> batch;      // knots, ascending
  std::vector<double> length;     // knots, ascending
  std::vector<HeadShape> shapes;  // measured
  std::vector<double> log_ratio;  // [shape][batch][length]; NaN: not measured
  // The card that was measured; null: the one that is priced.
  std::shared_ptr<Gpu const> measured_on;
};

// Twice the causal (query, key) pairs of a prompt: length^2, in a window w < length 2 w length - w^2.
double causal_pairs_twice(double length, double window);

// decode: max(4 b L h d FLOP / bf16, b (2 L kv d kv_bytes + 4 h d) B / bandwidth), L = min(length, window).
// prefill: 2 b P h d FLOP / bf16 + 4 b length (h + kv) d B / bandwidth, P = twice the causal pairs.
Seconds attention_roofline(Gpu const& gpu, AttentionTable const& t, HeadShape s, double batch, double length);

// Header lines (kind, KV bytes, window, shortest time in s, knots, scale), then a line "heads kv_heads
// head_dim batch codes" for each measured batch of a shape, codes over lengths (models/table_text.hpp).
std::string to_text(AttentionTable const& t);
Parsed<AttentionTable> attention_table_from(std::string_view text);

class AttentionPrices {
 public:
  AttentionPrices() = default;
  // Throws std::logic_error for a table without a measured value or a shape that is not above 0.
  AttentionPrices(AttentionTable const& table, Gpu const& gpu, HeadShape shape)
      : AttentionPrices(table, gpu, gpu, shape) {}
  AttentionPrices(AttentionTable const& table, Gpu const& measured_on, Gpu const& gpu, HeadShape shape);

  bool empty() const { return seconds_.empty(); }
  // batch >= 0 and length >= 0 (0 at batch 0 or length 0). Below the smallest length the price stays; below
  // the smallest batch the time beyond that of the smallest length shrinks with the batch.
  Seconds at(double batch, double length) const;
  // Prefill of `added` tokens that follow `prefix` cached ones in each sequence: time of the whole less time
  // of the prefix, not less than the time of `added` tokens alone.
  Seconds with_prefix(double batch, double added, double prefix) const;

  std::vector<double> const& batch_knots() const { return batch_; }
  std::vector<double> const& length_knots() const { return length_; }
  // Decode: seconds over the context at this batch, as StepPrices::decode_attention has it.
  Curve curve(double batch) const;

 private:
  // A batch between (or beyond) two rows of the grid: (1 - weight) x low + weight x high. Of one row, low =
  // high, weight is the batch over the row's.
  struct Rows {
    std::size_t low = 0;
    std::size_t high = 0;
    double weight = 0;
  };
  Rows rows_at(double batch) const;
  double value_at(Rows rows, std::size_t length_index) const;
  double work_of(double length) const;

  bool prefill_ = false;
  std::vector<double> batch_;
  std::vector<double> length_;
  std::vector<double> work_;     // of the lengths: the length itself in decode
  std::vector<double> seconds_;  // [batch][length]
  // work(length) of prefill: quadratic x pairs + linear x length.
  double quadratic_ = 0;
  double linear_ = 0;
  double window_ = 0;
};

// The same for a single price; a caller with many keeps an AttentionPrices.
Seconds price(AttentionTable const& table, Gpu const& gpu, HeadShape shape, double batch, double length);

}  // namespace rollcast
