// Single numbers of a profile from measured points.
#pragma once

#include <string>
#include <vector>

#include "calibrate/predictor.hpp"
#include "calibrate/residuals.hpp"
#include "calibrate/sample.hpp"
#include "models/hardware.hpp"

namespace rollcast {

struct NumberFit {
  double value = 0;
  int rows = 0;  // 0: none, and no value
  Residuals held_out;
};

// Time of the backward of attention over that of the forward, whose price `forward` gives: the median over
// attention_backward rows of 1,024 tokens and more (below, what a kernel takes at least counts), less the
// forward where they contain it. Rows with no more time than that are left out. held_out: of the whole time
// that was measured.
NumberFit fit_backward_over_forward(std::vector<Predictor> const& forward, std::vector<Sample> const& train,
                                    std::vector<Sample> const& held_out);

// The forward of an attention_backward sample: attention_prefill, no prefix.
Sample forward_of(Sample const& backward);
bool has_forward(Sample const& backward);  // the variant says so

// Share of the PCIe rate of pinned copies (h2d and d2h) of 16 MB and more: the median.
NumberFit fit_pcie(Gpu const& gpu, std::vector<Sample> const& samples);

// Seconds of one kernel of the longest runs of this variant ("stream", "graph"): the median.
NumberFit fit_launch(std::string const& variant, std::vector<Sample> const& samples);

}  // namespace rollcast
