#include "models/engine_overhead.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/calibration_text.hpp"
#include "models/layer_prices.hpp"

namespace rollcast {
namespace {

constexpr EngineKind kEngines[] = {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm, EngineKind::hf};

bool read_us(std::string_view word, Seconds& out) {
  double value = 0;
  if (!read_number(word, value) || !(value >= 0)) return false;
  out = us(value);
  return true;
}

std::string read_line(CalibrationLine const& line, EngineOverhead& o) {
  if (line.words.size() != 5) return "wants engine NAME STEP_us PER_SEQUENCE_us LAUNCH_us";
  auto const* const named = std::find_if(std::begin(kEngines), std::end(kEngines),
                                         [&](EngineKind k) { return name_of(k) == line.words[1]; });
  if (named == std::end(kEngines)) return fmt::format("'{}' is no engine", line.words[1]);
  o.engine = *named;
  bool const numbers = read_us(line.words[2], o.step) && read_us(line.words[3], o.per_sequence) &&
                       read_us(line.words[4], o.launch);
  if (!numbers) return "wants three times in us, none below 0";
  o.source = line.source;
  return {};
}

}  // namespace

EngineOverhead scaled(EngineOverhead o, double factor) {
  o.step = o.step * factor;
  o.per_sequence = o.per_sequence * factor;
  o.launch = o.launch * factor;
  return o;
}

EngineOverhead const* find_overhead(std::vector<EngineOverhead> const& all, EngineKind engine) {
  auto const it =
      std::find_if(all.begin(), all.end(), [&](EngineOverhead const& o) { return o.engine == engine; });
  return it == all.end() ? nullptr : &*it;
}

Seconds least_prefill_step(EngineOverhead const& o, Architecture const& a) {
  double launches = 0;
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers))
    launches += static_cast<double>(layer_shape(a, kind.example, {}).kernels) * kind.count;
  return o.launch * launches;
}

std::string to_text(std::vector<EngineOverhead> const& all) {
  std::string out;
  for (EngineOverhead const& o : all) {
    out += fmt::format("engine {} {:g} {:g} {:g}", name_of(o.engine), o.step.value * 1e6,
                       o.per_sequence.value * 1e6, o.launch.value * 1e6);
    if (!o.source.empty()) out += " # " + o.source;
    out += '\n';
  }
  return out;
}

Parsed<std::vector<EngineOverhead>> engine_overheads_from_text(std::string_view text) {
  std::vector<EngineOverhead> all;
  for (CalibrationLine const& line : calibration_lines(text)) {
    EngineOverhead o;
    std::string const problem = line.words[0] == "engine" ? read_line(line, o) : "starts with no 'engine'";
    if (!problem.empty()) return {std::nullopt, fmt::format("line {}: {}", line.number, problem)};
    if (find_overhead(all, o.engine) != nullptr)
      return {std::nullopt, fmt::format("line {}: {} a second time", line.number, name_of(o.engine))};
    all.push_back(std::move(o));
  }
  return {std::move(all), {}};
}

}  // namespace rollcast
