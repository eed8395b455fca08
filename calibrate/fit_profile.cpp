#include "calibrate/fit_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "calibrate/fit_attention.hpp"
#include "calibrate/fit_collectives.hpp"
#include "calibrate/fit_custom_all_reduce.hpp"
#include "calibrate/fit_gemm.hpp"
#include "calibrate/fit_moe.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/split.hpp"
#include "models/collective_calibration.hpp"

namespace rollcast {
namespace {

constexpr double kLargePass = 16e6;  // B: launches and caches no longer show

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
      if (s.gpu == gpu.name && !s.variant.ends_with("sustained")) samples_.push_back(s);
    }
    splits_ = split_of(samples_);
    profile_.gpu = gpu.name;
    profile_.date = options.date;
  }

  ProfileText fit() {
    for (GemmKind const kind : {GemmKind::bf16, GemmKind::fp8, GemmKind::fp8_block}) add_gemm(kind);
    for (AttentionKind const kind : {AttentionKind::decode, AttentionKind::prefill}) add_attention(kind);
    for (GemmKind const kind : {GemmKind::bf16, GemmKind::fp8, GemmKind::fp8_block}) add_moe(kind);
    add_collectives();
    add_memory_pass();
    for (std::string const& s : stacks_) profile_.stack += (profile_.stack.empty() ? "" : ", ") + s;
    profile_.name = gpu_.name + (profile_.stack.empty() ? "" : ": " + profile_.stack);
    return std::move(profile_);
  }

 private:
  bool is_train(std::size_t i) const { return !options_.train_only || splits_[i] == SampleSplit::train; }

  // Rows of one operation and type, of the software that is taken.
  Rows rows_of(std::string const& operation, std::string const& dtype) const {
    struct Cover {
      std::set<std::vector<double>> configurations;
      int rows = 0;
    };
    std::map<std::string, Cover> covers;
    for (Sample const& s : samples_) {
      if (s.operation != operation || s.dtype != dtype) continue;
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
      if (s.operation != operation || s.dtype != dtype || s.version != rows.version) continue;
      (is_train(i) ? rows.train : rows.held_out).push_back(s);
      rows.sources.insert(s.source);
    }
    return rows;
  }

  void add(std::string const& operation, std::string const& dtype, std::string const& table, Rows const& rows,
           int fitted, Residuals const& held_out, std::string text) {
    OperationNote note{operation, dtype,         Basis::measured, rows.version, "",
                       fitted,    held_out.rows, held_out.median, held_out.p90};
    for (std::string const& s : rows.sources) note.source += (note.source.empty() ? "" : " ") + s;
    profile_.operations.push_back(std::move(note));
    profile_.tables.push_back({table, std::move(text)});
    if (!rows.version.empty()) stacks_.insert(rows.version);
  }

  void add_gemm(GemmKind kind) {
    std::string const dtype(name_of(kind));
    Rows const rows = rows_of("gemm", dtype);
    GemmFit const fit = fit_gemm(gpu_, kind, rows.train, rows.held_out);
    if (fit.rows > 0) add("gemm", dtype, "gemm " + dtype, rows, fit.rows, fit.held_out, to_text(fit.table));
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
        if (fit.rows == 0) continue;
        std::string const suffix = window > 0 ? fmt::format(" window {:.0f}", window) : "";
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
      if (fit.rows > 0)
        add("moe " + d, dtype, "moe " + dtype + " " + d, rows, fit.rows, fit.held_out, to_text(fit.table));
    }
  }

  // Of each operation, node count and fabric the version with most pairs of ranks and doubled sizes.
  std::map<std::string, std::string> versions_of_collectives() const {
    std::map<std::string, std::map<std::string, std::set<std::pair<int, int>>>> covers;
    for (Sample const& s : samples_) {
      if (is_fitted_collective(s))
        covers[series_of(s)][s.version].insert({static_cast<int>(s.shape[1]), std::ilogb(s.shape[0])});
    }
    std::map<std::string, std::string> taken;
    for (auto const& [series, versions] : covers) {
      std::size_t most = 0;
      for (auto const& [version, pairs] : versions) {
        if (pairs.size() <= most) continue;
        most = pairs.size();
        taken[series] = version;
      }
    }
    return taken;
  }

  static bool is_fitted_collective(Sample const& s) {
    return is_collective(s.operation) && s.variant == "nccl" && s.dtype != "int8" &&
           (s.shape[2] < 1.5 || !s.fabric.empty());
  }
  static std::string series_of(Sample const& s) {
    return fmt::format("{} {:.0f} {}", s.operation, s.shape[2], s.fabric);
  }

  void add_collectives() {
    Rows rows;
    std::vector<Sample> own;
    std::map<std::string, std::string> const versions = versions_of_collectives();
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      Sample s = samples_[i];
      if (!is_collective(s.operation)) continue;
      if (s.variant.starts_with("vllm") || s.variant.starts_with("sglang")) {
        if (is_train(i)) own.push_back(s);
        continue;
      }
      if (!is_fitted_collective(s) || versions.at(series_of(s)) != s.version) continue;
      s.variant = s.fabric;  // as fit_collectives wants it
      rows.sources.insert(s.source);
      (is_train(i) ? rows.train : rows.held_out).push_back(std::move(s));
    }
    CollectiveCalibration calibration;
    calibration.nccl = fit_collectives(rows.train, CollectiveSplit::all);
    calibration.custom = fit_custom_all_reduce(own, false);
    if (calibration.nccl.corrections.empty() && calibration.custom.series.empty()) return;
    CollectiveResidual const held =
        check_all_collectives(calibration.nccl, rows.held_out, CollectiveSplit::all, CollectiveRows::trained);
    add("collectives", "", "collectives", rows, static_cast<int>(rows.train.size()),
        {held.rows, held.median, held.p90}, to_text(calibration));
    profile_.operations.back().basis = Basis::fitted;
  }

  void add_memory_pass() {
    std::vector<double> shares;
    for (Sample const& s : samples_) {
      if (s.operation != "memory_pass") continue;
      auto const moved = bytes_of_pass(s.variant, s.shape[0] * s.shape[1]);
      if (moved && moved->value >= kLargePass) shares.push_back(*moved / s.seconds / gpu_.memory_bandwidth);
    }
    if (shares.empty()) return;
    double const share = std::min(1.0, median_of(shares));
    std::string const source = fmt::format("median of {} measured passes of 16 MB and more", shares.size());
    profile_.numbers.push_back({"memory_pass", {share, source}});
    profile_.operations.push_back({"memory_pass", "", Basis::bytes_over_bandwidth, "", source,
                                   static_cast<int>(shares.size()), 0, 0, 0});
  }

  Gpu const& gpu_;
  FitOptions const& options_;
  std::vector<Sample> samples_;
  std::vector<SampleSplit> splits_;
  std::set<std::string> stacks_;
  ProfileText profile_;
};

}  // namespace

ProfileText fit_profile(Gpu const& gpu, std::vector<Sample> const& samples, FitOptions const& options) {
  return Fitter(gpu, samples, options).fit();
}

}  // namespace rollcast
