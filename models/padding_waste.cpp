#include "models/padding_waste.hpp"

#include <stdexcept>

namespace rollcast {

double PaddingWaste::wasted_share() const {
  return tokens > 0 ? static_cast<double>(tokens - useful_tokens) / static_cast<double>(tokens) : 0.0;
}

PaddingWaste padding_waste(std::vector<MicroBatch> const& batches) {
  PaddingWaste sum;
  for (MicroBatch const& m : batches) {
    if (m.useful_tokens > m.tokens)
      throw std::logic_error("a micro-batch with more useful tokens than tokens");
    sum = sum + PaddingWaste{m.tokens, m.useful_tokens};
  }
  return sum;
}

PaddingWaste operator+(PaddingWaste a, PaddingWaste b) {
  return {a.tokens + b.tokens, a.useful_tokens + b.useful_tokens};
}

}  // namespace rollcast
