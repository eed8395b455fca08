#include "reports/sample_use.hpp"

#include <algorithm>

namespace rollcast {

SampleUse sample_use(std::vector<StepRecord> const& steps) {
  SampleUse use;
  // As floating point: a log may hold counts whose products are no 64-bit integers.
  double aged = 0, ages = 0, computed = 0, useful = 0;
  for (StepRecord const& s : steps) {
    use.generated += s.generated_samples;
    use.trained += s.samples;
    if (s.signal_samples) use.with_signal = use.with_signal.value_or(0) + *s.signal_samples;
    computed += static_cast<double>(s.computed_tokens);
    useful += static_cast<double>(s.useful_tokens);
    use.staleness.resize(std::max(use.staleness.size(), s.staleness.size()), 0);
    for (std::size_t k = 0; k < s.staleness.size(); ++k) {
      auto const samples = static_cast<double>(s.staleness[k]);
      use.staleness[k] += s.staleness[k];
      aged += samples;
      ages += static_cast<double>(k) * samples;
    }
  }
  if (aged > 0) use.mean_staleness = ages / aged;
  if (computed > 0) use.padding_waste = 1 - useful / computed;
  return use;
}

}  // namespace rollcast
