#include "reports/step_peak.hpp"

#include <algorithm>

namespace rollcast {

bool measures_step_peak(Scenario const& s) {
  return s.measured && std::any_of(s.measured->values.begin(), s.measured->values.end(),
                                   [](auto const& figure) { return figure.first == kStepPeak; });
}

}  // namespace rollcast
