// StepPrices prepared for reading: every segment of the dense curve as a line, every cell of the attention
// table as a bilinear form, so that one read costs a handful of multiplications. Copies share the tables;
// where the last read was, and how many there were, is each copy's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/step_prices.hpp"

namespace rollcast {

class StepTable {
 public:
  explicit StepTable(StepPrices const& p);  // checks p

  // Seconds: fixed + per_sequence x sequences + dense(tokens).
  double base(std::int64_t sequences, std::int64_t tokens);
  // Seconds of the attention of a chunk of `added` prompt tokens after `computed` ones.
  double prefill(std::int64_t computed, std::int64_t added);
  // Seconds of the decode attention of `steps` steps of `batch` sequences, summed; their total context is
  // `context` in the first step and grows by batch from each step to the next. 0 for batch 0.
  double attention(std::int64_t batch, std::int64_t context, std::int64_t steps);

  // Reads of a line or a cell so far.
  std::int64_t reads() const { return reads_; }

 private:
  struct Line {
    double intercept = 0;
    double slope = 0;
  };
  struct Cell {  // intercept + slope c, each linear in the batch
    Line intercept;
    Line slope;
  };
  struct Tables {
    double fixed = 0;
    double per_sequence = 0;
    double chunk_read = 0;
    std::vector<double> dense_x;
    std::vector<Line> dense;
    std::vector<double> prefill_x;
    std::vector<Line> prefill;
    std::vector<double> batch_x;
    std::vector<double> context_x;
    std::vector<Cell> cells;  // batch segment x context segments + context segment
  };
  static Tables prepare(StepPrices const& p);
  double prefill_of(double pairs);

  std::shared_ptr<Tables const> tables_;
  // Where the last read was: the next one is near.
  std::size_t dense_at_ = 0;
  std::size_t prefill_at_ = 0;
  std::size_t batch_at_ = 0;
  std::size_t context_at_ = 0;
  std::int64_t reads_ = 0;
};

}  // namespace rollcast
