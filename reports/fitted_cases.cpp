#include "reports/fitted_cases.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "calibrate/generation_phases.hpp"

namespace rollcast {
namespace {

// A case of the list that the shipped numbers are not fitted on, so that it can be forecast.
constexpr char const* kNeverFitted = "R31";

}  // namespace

std::vector<std::string> const& fitted_cases() {
  static std::vector<std::string> const all = [] {
    std::set<std::string> ids;
    for (GenerationCase const& c : generation_cases()) ids.insert(c.id);
    ids.erase(kNeverFitted);
    return std::vector<std::string>(ids.begin(), ids.end());
  }();
  return all;
}

Profile with_case_left_out(Profile p, std::string const& id) {
  if (!std::binary_search(fitted_cases().begin(), fitted_cases().end(), id))
    throw std::logic_error(id + " is not fitted on");
  std::vector<GenerationPhase> const phases(generation_cases().begin(), generation_cases().end());
  EngineOverhead const fit = fit_generation(phases, {id, kNeverFitted});
  for (EngineOverhead& o : p.engines) {
    if (o.engine != EngineKind::vllm && o.engine != EngineKind::sglang) continue;
    o.step = fit.step;
    o.per_sequence = fit.per_sequence;
    o.source = "fitted without " + id;
  }
  return p;
}

}  // namespace rollcast
