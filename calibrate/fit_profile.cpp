#include "calibrate/fit_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "calibrate/datasheet.hpp"
#include "calibrate/fit_attention.hpp"
#include "calibrate/fit_clock.hpp"
#include "calibrate/fit_collectives.hpp"
#include "calibrate/fit_custom_all_reduce.hpp"
#include "calibrate/fit_engine.hpp"
#include "calibrate/fit_expert_exchange.hpp"
#include "calibrate/fit_gemm.hpp"
#include "calibrate/fit_moe.hpp"
#include "calibrate/fit_numbers.hpp"
#include "calibrate/fit_passes.hpp"
#include "calibrate/measured_predictors.hpp"
#include "calibrate/measured_profile.hpp"
#include "calibrate/operation_notes.hpp"
#include "calibrate/plausible_time.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/split.hpp"
#include "models/collective_calibration.hpp"

namespace rollcast {
namespace {

struct Rows {
  std::vector<Sample> train;
  std::vector<Sample> held_out;
  std::string version;
  std::set<std::string> sources;
};

// What covers a table: (n, k), heads, expert shapes.
std::vector<double> configuration_of(Sample const& s) {
  auto const from = [&](std::size_t first) {
    return std::vector<double>(s.shape.begin() + static_cast<std::ptrdiff_t>(first), s.shape.end());
  };
  if (s.operation == "attention_prefill") return from(3);
  return from(s.operation == "attention_decode" ? 2 : 1);
}

class Fitter {
 public:
  Fitter(Gpu const& gpu, std::vector<Sample> const& samples, FitOptions const& options)
      : gpu_(gpu), options_(options) {
    for (Sample const& s : samples) {
      if (s.gpu != gpu.name) continue;
      if (judge_time(gpu, s) != TimeJudgement::plausible) {
        implausible_.push_back(s);
        continue;
      }
      (s.variant.ends_with("sustained") ? sustained_ : samples_).push_back(s);
    }
    splits_ = split_of(samples_);
    profile_.gpu = gpu.name;
    profile_.date = options.date;
  }

  ProfileFit fit() {
    for (GemmKind const kind : {GemmKind::bf16, GemmKind::fp8, GemmKind::fp8_block}) add_gemm(kind);
    for (AttentionKind const kind : {AttentionKind::decode, AttentionKind::prefill}) add_attention(kind);
    for (GemmKind const kind : {GemmKind::bf16, GemmKind::fp8, GemmKind::fp8_block}) add_moe(kind);
    add_collectives();
    add_passes();
    KernelTables const tables = tables_so_far();
    add_clock(tables);
    add_backward(tables);
    add_host_numbers();
    add_engines();
    ProfileFit result;
    result.fitted = profile_.operations.size();
    result.unused = implausible_rows(implausible_);
    for (UnusedRows& u : unused_rows(samples_, trained(), profile_)) result.unused.push_back(std::move(u));
    add_unmeasured_notes(gpu_, profile_);
    for (std::string const& s : stacks_) profile_.stack += (profile_.stack.empty() ? "" : ", ") + s;
    profile_.name = gpu_.name + (options_.stack.empty() ? "" : ", " + options_.stack) +
                    (profile_.stack.empty() ? "" : ": " + profile_.stack);
    result.profile = std::move(profile_);
    return result;
  }

 private:
  bool is_train(std::size_t i) const { return !options_.train_only || splits_[i] == SampleSplit::train; }

  std::vector<Sample> trained() const {
    std::vector<Sample> rows;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (is_train(i)) rows.push_back(samples_[i]);
    }
    return rows;
  }

  // Rows of one operation, type and (where given) variant, of the software that is taken.
  Rows rows_of(std::string const& operation, std::string const& dtype,
               std::string const& variant = "") const {
    auto const is_one = [&](Sample const& s) {
      return s.operation == operation && s.dtype == dtype && (variant.empty() || s.variant == variant);
    };
    struct Cover {
      std::set<std::vector<double>> configurations;
      int rows = 0;
    };
    std::map<std::string, Cover> covers;
    for (Sample const& s : samples_) {
      if (!is_one(s)) continue;
      Cover& c = covers[s.version];
      c.configurations.insert(configuration_of(s));
      ++c.rows;
    }
    Rows rows;
    std::tuple<bool, std::size_t, int> best{false, 0, 0};
    for (auto const& [version, c] : covers) {
      bool const asked = !options_.stack.empty() && version.starts_with(options_.stack);
      std::tuple<bool, std::size_t, int> const rank{asked, c.configurations.size(), c.rows};
      if (rank <= best) continue;
      best = rank;
      rows.version = version;
    }
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      Sample const& s = samples_[i];
      if (!is_one(s) || s.version != rows.version) continue;
      (is_train(i) ? rows.train : rows.held_out).push_back(s);
      rows.sources.insert(s.source);
    }
    return rows;
  }

  void note_rows(std::string const& operation, std::string const& dtype, Rows const& rows, int fitted,
                 Residuals const& held_out) {
    OperationNote note{operation, dtype,         Basis::measured, rows.version, "",
                       fitted,    held_out.rows, held_out.median, held_out.p90};
    for (std::string const& s : rows.sources) note.source += (note.source.empty() ? "" : " ") + s;
    profile_.operations.push_back(std::move(note));
    if (!rows.version.empty()) stacks_.insert(rows.version);
  }

  void add(std::string const& operation, std::string const& dtype, std::string const& table, Rows const& rows,
           int fitted, Residuals const& held_out, std::string text) {
    note_rows(operation, dtype, rows, fitted, held_out);
    profile_.tables.push_back({table, std::move(text)});
  }

  // Rows that are too few for a table are told in a note.
  template <class Fit>
  bool has_enough(Fit const& fit, std::string const& operation, std::string const& dtype) {
    if (fit.rows == 0) return false;
    std::string const why = too_few(fit);
    if (!why.empty()) add_note(operation, dtype, Basis::derived, why, fit.rows, {});
    return why.empty();
  }

  void add_gemm(GemmKind kind) {
    std::string const dtype(name_of(kind));
    Rows const rows = rows_of("gemm", dtype);
    GemmFit const fit = fit_gemm(gpu_, kind, rows.train, rows.held_out);
    if (!has_enough(fit, "gemm", dtype)) return;
    add("gemm", dtype, "gemm " + dtype, rows, fit.rows, fit.held_out, to_text(fit.table));
  }

  void add_attention(AttentionKind kind) {
    std::string const operation = kind == AttentionKind::decode ? "attention_decode" : "attention_prefill";
    for (std::string const dtype : {"bf16", "fp8"}) {
      Rows const rows = rows_of(operation, dtype);
      std::set<double> windows;
      for (Sample const& s : rows.train) {
        double const w = window_of(s.variant);
        windows.insert(std::isinf(w) ? 0 : w);
      }
      for (double const window : windows) {
        AttentionFit const fit = fit_attention(gpu_, {kind, dtype, window}, rows.train, rows.held_out);
        std::string const suffix = window > 0 ? fmt::format(" window {:.0f}", window) : "";
        if (!has_enough(fit, operation + suffix, dtype)) continue;
        add(operation + suffix, dtype, operation + " " + dtype + suffix, rows, fit.rows, fit.held_out,
            to_text(fit.table));
      }
    }
  }

  void add_moe(GemmKind kind) {
    std::string const dtype(name_of(kind));
    Rows const rows = rows_of("moe", dtype);
    std::set<std::string> distributions;
    for (Sample const& s : rows.train) distributions.insert(s.variant.substr(s.variant.rfind(' ') + 1));
    for (std::string const& d : distributions) {
      if (d.empty()) continue;
      MoeFit const fit = fit_moe(gpu_, kind, d, rows.train, rows.held_out);
      if (has_enough(fit, "moe " + d, dtype))
        add("moe " + d, dtype, "moe " + dtype + " " + d, rows, fit.rows, fit.held_out, to_text(fit.table));
    }
  }

  void add_collectives() {
    Rows rows;
    std::vector<Sample> own, exchanged;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      Sample const& s = samples_[i];
      if (s.operation == "ep_dispatch" || s.operation == "ep_combine") {
        exchanged.push_back(s);
      } else if (!is_collective(s.operation)) {
        continue;
      } else if (s.variant.starts_with("vllm") || s.variant.starts_with("sglang")) {
        if (is_train(i)) own.push_back(s);
      } else if (is_fitted_by_nccl(s)) {
        rows.sources.insert(s.source);
        (is_train(i) ? rows.train : rows.held_out).push_back(s);
      }
    }
    CollectiveCalibration calibration;
    calibration.nccl = fit_collectives(rows.train, CollectiveSplit::all);
    calibration.custom = fit_custom_all_reduce(own, false);
    calibration.exchange = fit_expert_exchange(exchange_samples_of(exchanged), options_.train_only);
    if (calibration.nccl.corrections.empty() && calibration.custom.series.empty() &&
        calibration.exchange.fits.empty())
      return;
    CollectiveResidual const held =
        check_all_collectives(calibration.nccl, rows.held_out, CollectiveSplit::all, CollectiveRows::trained);
    int used = static_cast<int>(rows.train.size());
    for (auto const& [why, left_out] : collectives_left_out(rows.train, rows.train)) used -= left_out;
    add("collectives", "", "collectives", rows, used, {held.rows, held.median, held.p90},
        to_text(calibration));
    profile_.operations.back().basis = Basis::fitted;
    for (ExchangeResidual const& r :
         check_expert_exchange(calibration.exchange, exchange_samples_of(exchanged), options_.train_only)) {
      add_note("ep_" + r.direction, r.mode + (r.several_nodes ? " network" : " node"), Basis::fitted,
               "two numbers, every other size held out", static_cast<int>(exchanged.size()),
               {r.rows, r.median, r.p90});
    }
  }

  void add_number(std::string const& name, double value, std::string const& source) {
    profile_.numbers.push_back({name, {value, source}});
  }

  void add_note(std::string const& operation, std::string const& dtype, Basis basis,
                std::string const& source, int rows, Residuals const& held_out) {
    profile_.operations.push_back(
        {operation, dtype, basis, "", source, rows, held_out.rows, held_out.median, held_out.p90});
  }

  void add_passes() {
    PassTable table;
    for (ElementwisePass const kind :
         {ElementwisePass::norm, ElementwisePass::rope, ElementwisePass::activation, ElementwisePass::add,
          ElementwisePass::embedding, ElementwisePass::log_softmax, ElementwisePass::adam}) {
      std::string const name(name_of(kind));
      std::string const dtype = kind == ElementwisePass::adam ? "fp32" : "bf16";
      Rows const rows = rows_of("memory_pass", dtype, name);
      PassFit const fit = fit_passes(gpu_, kind, rows.train, rows.held_out);
      if (fit.rows == 0) continue;
      table.laws.push_back(fit.law);
      note_rows("memory_pass " + name, dtype, rows, fit.rows, fit.held_out);
    }
    if (table.laws.empty()) return;
    profile_.tables.push_back({"passes", to_text(table)});
    add_number(
        "memory_pass", share_of(table),
        "for passes without a law of their own: bytes over bandwidth and time of the fitted laws of two "
        "norms, rope, activation and two residual adds, 4,096 tokens of Llama-3.1-8B");
  }

  double share_of(PassTable const& table) const {
    struct Pass {
      ElementwisePass kind;
      double width;
      double count;
    };
    constexpr double kTokens = 4096, kHidden = 4096, kHeads = 40 * 128, kInner = 14336;
    Seconds least, taken;
    for (Pass const& p :
         {Pass{ElementwisePass::norm, kHidden, 2}, Pass{ElementwisePass::rope, kHeads, 1},
          Pass{ElementwisePass::activation, kInner, 1}, Pass{ElementwisePass::add, kHidden, 2}}) {
      auto const time = pass_time(table, gpu_, p.kind, kTokens, p.width);
      if (!time) continue;
      least += bytes(p.count * kTokens * p.width * bytes_per_element(p.kind)) / gpu_.memory_bandwidth;
      taken += p.count * *time;
    }
    return taken > Seconds(0) ? std::min(1.0, least / taken) : datasheet_profile(gpu_).memory_pass.value;
  }

  // What the tables so far say, to set single numbers apart from them.
  KernelTables tables_so_far() const {
    Parsed<KernelTables> tables = measured_tables_from({profile_});
    if (!tables.value) throw std::logic_error("a fitted table cannot be read: " + tables.error);
    return std::move(*tables.value);
  }

  void add_clock(KernelTables const& tables) {
    auto const it = std::find_if(tables.gemm.begin(), tables.gemm.end(),
                                 [](GemmTable const& t) { return t.kind == GemmKind::bf16; });
    if (it == tables.gemm.end()) return;
    std::vector<SampleSplit> const splits = split_of(sustained_);
    Rows rows;
    for (std::size_t i = 0; i < sustained_.size(); ++i) {
      bool const train = !options_.train_only || splits[i] == SampleSplit::train;
      (train ? rows.train : rows.held_out).push_back(sustained_[i]);
    }
    ClockFit const fit = fit_clock(gpu_, *it, rows.train, rows.held_out);
    if (fit.rows == 0) return;
    std::string const source =
        "bf16 products with m > 1,024 and n, k >= 1,024 that compute, price in bursts over time under load, "
        "mean of the medians of each software (" +
        fit.spread + ")";
    add_number("sustained_clock", fit.clock, source);
    add_note("sustained_clock", "", Basis::fitted, source, fit.rows, fit.held_out);
  }

  void add_backward(KernelTables const& tables) {
    std::vector<Predictor> const prices = measured_predictors(tables, {profile_}, gpu_);
    Rows const rows = rows_of("attention_backward", "bf16");
    NumberFit const fit = fit_backward_over_forward(prices, rows.train, rows.held_out);
    Profile const sheet = datasheet_profile(gpu_);
    char const* const name = "attention_backward_over_forward";
    if (fit.rows == 0) {
      if (tables.attention.empty()) return;  // it would say nothing of what was measured
      constexpr double kFlops = 2.5;         // of the backward over the forward's
      add_number(name, kFlops * sheet.attention_forward.value / sheet.attention_backward.value,
                 sheet.attention_backward.source);
      return;
    }
    std::string source;
    for (std::string const& s : rows.sources) source += s + " ";
    source += "(" + rows.version + "), less the forward of the table where it is contained";
    add_number(name, fit.value, source);
    add_note("attention_backward", "bf16", Basis::fitted, source, fit.rows, fit.held_out);
  }

  void add_host_numbers() {
    if (NumberFit const fit = fit_pcie(gpu_, samples_); fit.rows > 0) {
      std::string const source = "median of pinned copies of 16 MB and more";
      add_number("pcie", fit.value, source);
      add_note("copy", "", Basis::measured, source, fit.rows, {});
    }
    if (NumberFit const fit = fit_launch("stream", samples_); fit.rows > 0) {
      std::string const source = "empty kernels one after the other in a stream";
      add_number("kernel_launch", fit.value, source);
      add_note("kernel_launch", "", Basis::measured, source, fit.rows, {});
    }
    if (NumberFit const fit = fit_launch("graph", samples_); fit.rows > 0)
      add_note("cuda_graph_launch", "", Basis::measured,
               fmt::format("{:.2f} us a kernel of a graph of empty ones", fit.value * 1e6), fit.rows, {});
  }

  // Needs the tables before it: a served point is simulated with them.
  void add_engines() {
    Rows rows;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      Sample const& s = samples_[i];
      if (s.operation != "served_tpot") continue;
      (is_train(i) ? rows.train : rows.held_out).push_back(s);
    }
    if (rows.train.empty()) return;
    Parsed<Profile> const profile = profile_for(profile_, gpu_);
    if (!profile.value) throw std::logic_error("a profile just written: " + profile.error);
    auto const fit = fit_engine(*profile.value, rows.train);
    if (!fit) return;
    Residuals const held = check_engine(*profile.value, fit->overhead, rows.held_out);
    EngineOverhead overhead = fit->overhead;
    for (Sample const& s : rows.train) {
      if (s.variant.starts_with(name_of(overhead.engine))) rows.version = s.version;
      rows.sources.insert(s.source);
    }
    overhead.source = fmt::format(
        "{}: least squares over {} served points, time per token off by {:.1f} % median, {:.1f} % "
        "p90; {} held out: {:.1f} %, {:.1f} %",
        rows.version, fit->train.rows, 100 * fit->train.median, 100 * fit->train.p90, held.rows,
        100 * held.median, 100 * held.p90);
    std::set<std::string> const stacks = stacks_;
    add("served_tpot", "", "engines", rows, fit->train.rows, held, to_text({overhead}));
    profile_.operations.back().basis = Basis::fitted;
    stacks_ = stacks;  // of kernels
  }

  Gpu const& gpu_;
  FitOptions const& options_;
  std::vector<Sample> samples_;
  std::vector<Sample> sustained_;
  std::vector<Sample> implausible_;
  std::vector<SampleSplit> splits_;
  std::set<std::string> stacks_;
  ProfileText profile_;
};

}  // namespace

ProfileFit fit_samples(Gpu const& gpu, std::vector<Sample> const& samples, FitOptions const& options) {
  return Fitter(gpu, samples, options).fit();
}

ProfileText fit_profile(Gpu const& gpu, std::vector<Sample> const& samples, FitOptions const& options) {
  return fit_samples(gpu, samples, options).profile;
}

}  // namespace rollcast
