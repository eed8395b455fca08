#include "reports/fitted_cases.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "calibrate/adapter_steps.hpp"
#include "calibrate/generation_phases.hpp"
#include "calibrate/static_phases.hpp"
#include "reports/validation.hpp"

namespace rollcast {
namespace {

// A case of the list that the shipped numbers are not fitted on, so that it can be forecast.
constexpr char const* kNeverFitted = "R31";

bool is_of_engines(std::string const& id) {
  auto const& cases = generation_cases();
  return id != kNeverFitted &&
         std::any_of(cases.begin(), cases.end(), [&](GenerationCase const& c) { return c.id == id; });
}

bool is_of_generate(std::string const& name) {
  auto const& cases = static_cases();
  return std::any_of(cases.begin(), cases.end(), [&](StaticCase const& c) { return c.name == name; });
}

bool is_eager(Job const& job) { return job.train.kernels == KernelStack::eager; }

bool is_quantized(Job const& job) {
  auto const& adapter = job.algorithm.adapter;
  return adapter && adapter->kind == AdapterKind::qlora;
}

// A source whose steps say something of a number that this job asks for.
bool is_of_adapters(std::string const& id, Job const& job) {
  auto const& steps = adapter_steps();
  return std::any_of(steps.begin(), steps.end(), [&](AdapterStep const& s) {
    return s.source == id &&
           ((is_eager(job) && is_eager(s.job)) || (is_quantized(job) && is_quantized(s.job)));
  });
}

void fit_engines(Profile& p, std::string const& id) {
  std::vector<GenerationPhase> const phases(generation_cases().begin(), generation_cases().end());
  EngineOverhead const fit = fit_generation(phases, {id, kNeverFitted});
  for (EngineOverhead& o : p.engines) {
    if (o.engine != EngineKind::vllm && o.engine != EngineKind::sglang) continue;
    o.step = fit.step;
    o.per_sequence = fit.per_sequence;
    o.source = "fitted without " + id;
  }
}

void fit_generate(Profile& p, std::string const& name) {
  EngineOverhead fit = fit_static(name);
  fit.source = "fitted without " + name;
  std::erase_if(p.engines, [](EngineOverhead const& o) { return o.engine == EngineKind::hf; });
  p.engines.push_back(fit);
}

void fit_adapters(Profile& p, std::string const& id) {
  AdapterFit const fit = fit_adapter_steps(id);
  p.eager_launches = {fit.eager_launches, "fitted without " + id};
  p.dequantization = {fit.dequantization, "fitted without " + id};
}

}  // namespace

bool is_fitted(std::string const& name, Job const& job) {
  std::string const id = id_of(name);
  return is_of_engines(id) || is_of_generate(name) || is_of_adapters(id, job);
}

Profile with_case_left_out(Profile p, std::string const& name, Job const& job) {
  if (!is_fitted(name, job)) throw std::logic_error(name + " is not fitted on");
  std::string const id = id_of(name);
  if (is_of_engines(id)) fit_engines(p, id);
  if (is_of_generate(name)) fit_generate(p, name);
  if (is_of_adapters(id, job)) fit_adapters(p, id);
  return p;
}

}  // namespace rollcast
