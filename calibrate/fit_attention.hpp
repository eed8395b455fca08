// Attention tables from measured kernels.
#pragma once

#include <string>
#include <vector>

#include "calibrate/residuals.hpp"
#include "calibrate/sample.hpp"
#include "models/attention_tables.hpp"

namespace rollcast {

// The rows of one table: operation by kind, dtype of the KV cache, sliding window.
struct AttentionChoice {
  AttentionKind kind = AttentionKind::decode;
  std::string dtype = "bf16";  // bf16: 2 bytes an element; fp8: 1
  double window = 0;
};

// The window that a variant names ("kernel window 128"); 0 where it names none.
double window_of(Sample const& s);

struct AttentionFit {
  AttentionTable table;
  int rows = 0;  // that the table is made of
  Residuals held_out;
};

// Rows of another choice or GPU are left out, and prefills after a cached prefix; of several times of one
// shape the median is taken. Knots are the batches and lengths that occur. Without rows the table is empty.
// held_out: rows that the fit does not see; they only give the residuals.
AttentionFit fit_attention(Gpu const& gpu, AttentionChoice const& choice, std::vector<Sample> const& train,
                           std::vector<Sample> const& held_out);

// Why its rows are too few for a table; "" where they are not. It has at least 4 lengths and 3 batches.
std::string too_few(AttentionFit const& fit);

// |price / measured - 1| of the samples of this choice and GPU.
std::vector<double> attention_errors(AttentionTable const& table, Gpu const& gpu,
                                     AttentionChoice const& choice, std::vector<Sample> const& samples);

// Backward over forward: the median of (measured - forward) / forward over samples of attention_backward with
// at least min_length tokens, whose time is of both passes; forward from the prefill table. 0 without
// samples.
struct BackwardFit {
  double ratio = 0;
  int rows = 0;
};
BackwardFit fit_attention_backward(AttentionTable const& prefill, Gpu const& gpu,
                                   std::vector<Sample> const& both_passes, double min_length);

}  // namespace rollcast
