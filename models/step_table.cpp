#include "models/step_table.hpp"

#include <algorithm>
#include <cmath>

namespace rollcast {
namespace {

// The segment of v, starting from the last one; x has segments + 1 knots (or one: a single segment). A knot
// belongs to the segment below it, so that what was read before does not change the last bit.
std::size_t walk(std::vector<double> const& x, std::size_t segments, std::size_t at, double v) {
  while (at > 0 && v <= x[at]) --at;
  while (at + 1 < segments && v > x[at + 1]) ++at;
  return at;
}

}  // namespace

StepTable::StepTable(StepPrices const& p) : tables_(std::make_shared<Tables const>(prepare(p))) {}

StepTable::Tables StepTable::prepare(StepPrices const& p) {
  check(p);
  Tables t;
  t.fixed = p.fixed.value;
  t.per_sequence = p.per_sequence.value;
  t.chunk_read = p.chunk_read;
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
  t.dense_x = p.dense.x;
  t.dense = lines(p.dense);
  t.prefill_x = p.prefill.x;
  t.prefill = lines(p.prefill);

  if (p.batch_knots.empty()) return t;
  t.context_x = p.context_knots;
  std::size_t const segments = std::max<std::size_t>(t.context_x.size(), 2) - 1;
  auto const row_line = [&](std::vector<double> const& row, std::size_t j) {
    return t.context_x.size() == 1 ? Line{row[0], 0.0}
                                   : line(t.context_x[j], row[j], t.context_x[j + 1], row[j + 1]);
  };
  // The batch axis starts at 0, where attention costs nothing.
  std::vector<std::vector<double>> rows;
  if (p.batch_knots.front() > 0.0) {
    t.batch_x.push_back(0.0);
    rows.emplace_back(t.context_x.size(), 0.0);
  }
  t.batch_x.insert(t.batch_x.end(), p.batch_knots.begin(), p.batch_knots.end());
  rows.insert(rows.end(), p.decode_attention.begin(), p.decode_attention.end());
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    for (std::size_t j = 0; j < segments; ++j) {
      Line const low = row_line(rows[i], j);
      Line const high = row_line(rows[i + 1], j);
      t.cells.push_back({line(t.batch_x[i], low.intercept, t.batch_x[i + 1], high.intercept),
                         line(t.batch_x[i], low.slope, t.batch_x[i + 1], high.slope)});
    }
  }
  return t;
}

double StepTable::base(std::int64_t sequences, std::int64_t tokens) {
  Tables const& t = *tables_;
  ++reads_;
  double const v = static_cast<double>(tokens);
  dense_at_ = walk(t.dense_x, t.dense.size(), dense_at_, v);
  Line const& l = t.dense[dense_at_];
  return t.fixed + t.per_sequence * static_cast<double>(sequences) + (l.intercept + l.slope * v);
}

double StepTable::prefill_of(double pairs) {
  Tables const& t = *tables_;
  ++reads_;
  prefill_at_ = walk(t.prefill_x, t.prefill.size(), prefill_at_, pairs);
  Line const& l = t.prefill[prefill_at_];
  return l.intercept + l.slope * pairs;
}

double StepTable::prefill(std::int64_t computed, std::int64_t added) {
  double const read = tables_->chunk_read * static_cast<double>(computed + added);
  double const alone = std::max(read, prefill_of(causal_pairs(static_cast<double>(added))));
  if (computed == 0) return alone;
  double const before = prefill_of(causal_pairs(static_cast<double>(computed)));
  return std::max(alone, prefill_of(causal_pairs(static_cast<double>(computed + added))) - before);
}

double StepTable::attention(std::int64_t batch, std::int64_t context, std::int64_t steps) {
  Tables const& t = *tables_;
  if (batch == 0 || t.cells.empty()) return 0.0;
  std::size_t const segments = t.cells.size() / (t.batch_x.size() - 1);
  double const b = static_cast<double>(batch);
  double const mean = static_cast<double>(context) / b;
  batch_at_ = walk(t.batch_x, t.batch_x.size() - 1, batch_at_, b);
  context_at_ = walk(t.context_x, segments, context_at_, mean);
  double sum = 0.0;
  std::size_t j = context_at_;
  for (std::int64_t done = 0;; ++j) {
    double const c = mean + static_cast<double>(done);
    std::int64_t n = steps - done;
    // Steps whose mean context still lies in this segment.
    if (j + 1 < segments && c + static_cast<double>(n - 1) > t.context_x[j + 1])
      n = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(t.context_x[j + 1] - c)) + 1);
    Cell const& cell = t.cells[batch_at_ * segments + j];
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
