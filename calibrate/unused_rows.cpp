#include "calibrate/unused_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibrate/fit_collectives.hpp"
#include "calibrate/plausible_time.hpp"
#include "models/catalog/catalog.hpp"
#include "models/gemm_table.hpp"
#include "models/pass_prices.hpp"

namespace rollcast {
namespace {

using Tally = std::map<std::string, int>;

std::vector<UnusedRows> rows_of(Tally const& tally) {
  std::vector<UnusedRows> rows;
  for (auto const& [why, count] : tally) rows.push_back({why, count});
  return rows;
}

bool has_table_type(Sample const& s) {
  if (s.operation == "gemm" || s.operation == "moe") return gemm_kind_of(s.dtype).has_value();
  if (s.operation == "memory_pass") return s.dtype == (s.variant == "adam" ? "fp32" : "bf16");
  if (s.operation == "attention_backward") return s.dtype == "bf16";
  return s.dtype == "bf16" || s.dtype == "fp8";
}

bool is_kernel(std::string const& operation) {
  return operation == "gemm" || operation == "moe" || operation == "memory_pass" ||
         operation.starts_with("attention_");
}

// The software that a note of this operation and type names; nullptr without a note.
std::string const* software_of(ProfileText const& fitted, Sample const& s) {
  std::string const name = s.operation == "memory_pass" ? s.operation + " " + s.variant : s.operation;
  for (OperationNote const& o : fitted.operations) {
    bool const same = o.operation == name || o.operation.starts_with(name + " ");
    if (same && o.dtype == s.dtype && o.basis == Basis::measured) return &o.software;
  }
  return nullptr;
}

// Empty where the fit uses the row or holds it out.
std::string why_unused(Sample const& s, ProfileText const& fitted) {
  if (s.operation == "layer" || s.operation == "layer_gemm" || s.operation == "served_ttft")
    return s.operation + ": for checks alone";
  if (s.operation == "served_tpot" && !s.variant.starts_with("trtllm "))
    return "served_tpot: no engine but trtllm is fitted";
  if (s.operation == "copy" && s.variant != "h2d" && s.variant != "d2h") return "copy: neither h2d nor d2h";
  if (s.operation == "launch" && s.variant != "stream" && s.variant != "graph")
    return "launch: neither of a stream nor of a graph";
  if (!is_kernel(s.operation)) return {};
  if (s.operation == "memory_pass" && !pass_kind_of(s.variant))
    return fmt::format("memory_pass: '{}' is no pass of a layer", s.variant);
  if (!has_table_type(s)) return fmt::format("{}: there is no table of type '{}'", s.operation, s.dtype);
  if (s.operation == "attention_prefill" && dimension(s, "prefix") > 0)
    return "attention_prefill: with a cached prefix";
  bool const fitted_apart = s.operation == "attention_backward" || s.variant.ends_with("sustained");
  std::string const* const taken = fitted_apart ? nullptr : software_of(fitted, s);
  if (taken == nullptr || *taken == s.version) return {};
  return fmt::format("{} {} of {}: {} was taken; --stack names another", s.operation, s.dtype,
                     s.version.empty() ? "unnamed software" : s.version,
                     taken->empty() ? "unnamed software" : *taken);
}

}  // namespace

std::vector<UnusedRows> implausible_rows(std::vector<Sample> const& samples) {
  Tally tally;
  for (Sample const& s : samples) {
    Gpu const* const gpu = find_gpu(builtin_catalog(), s.gpu);
    if (gpu == nullptr) continue;
    TimeJudgement const judgement = judge_time(*gpu, s);
    if (judgement == TimeJudgement::too_short)
      ++tally[s.operation + ": less than a third of the time that the data sheet allows"];
    if (judgement == TimeJudgement::too_long)
      ++tally[s.operation + ": more than 10,000 times as long as the data sheet allows and over 10 s"];
  }
  return rows_of(tally);
}

std::vector<UnusedRows> unused_rows(std::vector<Sample> const& samples, std::vector<Sample> const& trained,
                                    ProfileText const& fitted) {
  Tally tally;
  for (Sample const& s : samples) {
    std::string const why = why_unused(s, fitted);
    if (!why.empty()) ++tally[why];
  }
  for (auto const& [why, rows] : collectives_left_out(samples, trained)) tally[why] += rows;
  return rows_of(tally);
}

}  // namespace rollcast
