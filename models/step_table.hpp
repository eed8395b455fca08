// StepPrices prepared for reading: every segment of the dense curve as a line, every cell of the attention
// table as a bilinear form, so that one read costs a handful of multiplications.
#pragma once

#include <cstdint>
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
  double prefill_of(double pairs);

  struct Cell {  // intercept + slope c, each linear in the batch
    Line intercept;
    Line slope;
  };

  double fixed_ = 0;
  double per_sequence_ = 0;
  double chunk_read_ = 0;
  std::vector<double> dense_x_;
  std::vector<Line> dense_;
  std::vector<double> prefill_x_;
  std::vector<Line> prefill_;
  std::vector<double> batch_x_;
  std::vector<double> context_x_;
  std::vector<Cell> cells_;  // batch segment x context segments + context segment
  // Where the last read was: the next one is near.
  std::size_t dense_at_ = 0;
  std::size_t prefill_at_ = 0;
  std::size_t batch_at_ = 0;
  std::size_t context_at_ = 0;
  std::int64_t reads_ = 0;
};

}  // namespace rollcast
