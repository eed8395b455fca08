#include "models/step_table.hpp"

#include <algorithm>
#include <cmath>

namespace rollcast {
namespace {

// The segment of v, starting from the last one; x has segments + 1 knots (or one: a single segment).
std::size_t walk(std::vector<double> const& x, std::size_t segments, std::size_t at, double v) {
  while (at > 0 && v < x[at]) --at;
  while (at + 1 < segments && v > x[at + 1]) ++at;
  return at;
}

}  // namespace

StepTable::StepTable(StepPrices const& p)
    : fixed_(p.fixed.value), per_sequence_(p.per_sequence.value), chunk_read_(p.chunk_read) {
  check(p);
  auto const line = [](double x0, double y0, double x1, double y1) {
    double const slope = (y1 - y0) / (x1 - x0);
    return Line{y0 - slope * x0, slope};
  };

  auto const lines = [&](Curve const& c) {
    std::vector<Line> list;
    for (std::size_t i = 0; i + 1 < c.x.size(); ++i)
      list.push_back(line(c.x[i], c.y[i], c.x[i + 1], c.y[i + 1]));
    if (list.empty()) list.push_back({c.at(0.0), 0.0});
    return list;
  };
  dense_x_ = p.dense.x;
  dense_ = lines(p.dense);
  prefill_x_ = p.prefill.x;
  prefill_ = lines(p.prefill);

  if (p.batch_knots.empty()) return;
  context_x_ = p.context_knots;
  std::size_t const segments = std::max<std::size_t>(context_x_.size(), 2) - 1;
  auto const row_line = [&](std::vector<double> const& row, std::size_t j) {
    return context_x_.size() == 1 ? Line{row[0], 0.0}
                                  : line(context_x_[j], row[j], context_x_[j + 1], row[j + 1]);
  };
  // The batch axis starts at 0, where attention costs nothing.
  std::vector<std::vector<double>> rows;
  if (p.batch_knots.front() > 0.0) {
    batch_x_.push_back(0.0);
    rows.emplace_back(context_x_.size(), 0.0);
  }
  batch_x_.insert(batch_x_.end(), p.batch_knots.begin(), p.batch_knots.end());
  rows.insert(rows.end(), p.decode_attention.begin(), p.decode_attention.end());
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    for (std::size_t j = 0; j < segments; ++j) {
      Line const low = row_line(rows[i], j);
      Line const high = row_line(rows[i + 1], j);
      cells_.push_back({line(batch_x_[i], low.intercept, batch_x_[i + 1], high.intercept),
                        line(batch_x_[i], low.slope, batch_x_[i + 1], high.slope)});
    }
  }
}

double StepTable::base(std::int64_t sequences, std::int64_t tokens) {
  ++reads_;
  double const v = static_cast<double>(tokens);
  dense_at_ = walk(dense_x_, dense_.size(), dense_at_, v);
  Line const& l = dense_[dense_at_];
  return fixed_ + per_sequence_ * static_cast<double>(sequences) + (l.intercept + l.slope * v);
}

double StepTable::prefill_of(double pairs) {
  ++reads_;
  prefill_at_ = walk(prefill_x_, prefill_.size(), prefill_at_, pairs);
  Line const& l = prefill_[prefill_at_];
  return l.intercept + l.slope * pairs;
}

double StepTable::prefill(std::int64_t computed, std::int64_t added) {
  double const read = chunk_read_ * static_cast<double>(computed + added);
  double const alone = std::max(read, prefill_of(causal_pairs(static_cast<double>(added))));
  if (computed == 0) return alone;
  double const before = prefill_of(causal_pairs(static_cast<double>(computed)));
  return std::max(alone, prefill_of(causal_pairs(static_cast<double>(computed + added))) - before);
}

double StepTable::attention(std::int64_t batch, std::int64_t context, std::int64_t steps) {
  if (batch == 0 || cells_.empty()) return 0.0;
  std::size_t const segments = cells_.size() / (batch_x_.size() - 1);
  double const b = static_cast<double>(batch);
  double const mean = static_cast<double>(context) / b;
  batch_at_ = walk(batch_x_, batch_x_.size() - 1, batch_at_, b);
  context_at_ = walk(context_x_, segments, context_at_, mean);
  double sum = 0.0;
  std::size_t j = context_at_;
  for (std::int64_t done = 0;; ++j) {
    double const c = mean + static_cast<double>(done);
    std::int64_t n = steps - done;
    // Steps whose mean context still lies in this segment.
    if (j + 1 < segments && c + static_cast<double>(n - 1) > context_x_[j + 1])
      n = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(context_x_[j + 1] - c)) + 1);
    Cell const& cell = cells_[batch_at_ * segments + j];
    double const intercept = cell.intercept.intercept + cell.intercept.slope * b;
    double const slope = cell.slope.intercept + cell.slope.slope * b;
    double const count = static_cast<double>(n);
    sum += count * (intercept + slope * (c + 0.5 * (count - 1.0)));
    ++reads_;
    done += n;
    if (done == steps) return sum;
  }
}

}  // namespace rollcast
