// Rates read from the charts of the FlashAttention repository: gpu, kernel, pass, causal, head_dim, seqlen,
// batch_x_seqlen, tflops.
//
// A causal row of forward and backward becomes attention_backward "forward" of batch_x_seqlen / seqlen
// sequences. By the convention of the charts the hidden size is 2,048, so that there are 2,048 / head_dim
// heads, and the FLOPs are 3.5 x 4 x length^2 x head_dim x heads / 2 of a sequence. Other rows are skipped.
#pragma once

#include <string>
#include <vector>

#include "calibrate/import/imported.hpp"

namespace rollcast {

bool is_flash_attention(std::vector<std::string> const& columns);
void read_flash_attention(SourceText const& source, Imported& out);

}  // namespace rollcast
