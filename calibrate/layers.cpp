#include "calibrate/layers.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

namespace rollcast {
namespace {

constexpr double kFewTokens = 128;
constexpr double kSomeTokens = 1024;

class Parts {
 public:
  explicit Parts(Sample const& layer) : layer_(layer) {
    tokens_ = layer.shape[0];
    hidden_ = layer.shape[1];
    double const tp = layer.shape[6];
    heads_ = layer.shape[2] / tp;
    kv_heads_ = std::max(1.0, layer.shape[3] / tp);
    head_dim_ = layer.shape[4];
    inner_ = layer.shape[5] / tp;
  }

  std::vector<Sample> all() {
    bool const fused = layer_.variant == "fused";
    if (!fused && layer_.variant != "apart") return {};
    if (layer_.operation != "layer_gemm" && layer_.operation != "layer") return {};
    add_products(fused);
    if (layer_.operation == "layer") add_passes(fused);
    return std::move(parts_);
  }

 private:
  void add(char const* operation, char const* variant, std::vector<double> shape) {
    Sample s = layer_;
    s.operation = operation;
    s.variant = variant;
    s.shape = std::move(shape);
    parts_.push_back(std::move(s));
  }

  void product(double n, double k) { add("gemm", "sustained", {tokens_, n, k}); }
  void pass(char const* variant, double width) { add("memory_pass", variant, {tokens_, width}); }

  void add_products(bool fused) {
    double const q = heads_ * head_dim_, kv = kv_heads_ * head_dim_;
    if (fused) {
      product(q + 2 * kv, hidden_);
      product(2 * inner_, hidden_);
    } else {
      product(q, hidden_);
      for (int i = 0; i < 2; ++i) product(kv, hidden_);
      for (int i = 0; i < 2; ++i) product(inner_, hidden_);
    }
    product(hidden_, q);
    product(hidden_, inner_);
  }

  void add_passes(bool fused) {
    for (int i = 0; i < 2; ++i) pass("norm", hidden_);
    pass("rope", (heads_ + kv_heads_) * head_dim_);
    pass("activation", inner_);
    if (fused) {
      for (int i = 0; i < 2; ++i) pass("add", hidden_);
    } else {
      add("attention_prefill", "", {1, tokens_, 0, heads_, kv_heads_, head_dim_});
    }
  }

  Sample const& layer_;
  double tokens_ = 0, hidden_ = 0, heads_ = 0, kv_heads_ = 0, head_dim_ = 0, inner_ = 0;
  std::vector<Sample> parts_;
};

}  // namespace

std::vector<Sample> parts_of_layer(Sample const& layer) { return Parts(layer).all(); }

void add_layer_predictors(std::vector<Predictor>& predictors) {
  auto const known = std::make_shared<std::vector<Predictor>>(predictors);
  auto const price = [known](Sample const& s) -> std::optional<Seconds> {
    std::vector<Sample> const parts = parts_of_layer(s);
    Seconds sum;
    for (Sample const& part : parts) {
      auto const time = predicted(*known, part);
      if (!time) return std::nullopt;
      sum += *time;
    }
    return parts.empty() ? std::nullopt : std::optional<Seconds>(sum);
  };
  for (char const* operation : {"layer_gemm", "layer"}) predictors.push_back({operation, price, {}});
}

TokenRange token_range_of(Sample const& s) {
  if (s.operation != "layer_gemm" && s.operation != "layer") return TokenRange::all;
  double const tokens = dimension(s, "tokens");
  if (tokens <= kFewTokens) return TokenRange::few;
  return tokens <= kSomeTokens ? TokenRange::some : TokenRange::many;
}

std::string_view name_of(TokenRange r) {
  switch (r) {
    case TokenRange::all:
      return "";
    case TokenRange::few:
      return "1-128 tokens";
    case TokenRange::some:
      return "129-1024 tokens";
    case TokenRange::many:
      return ">1024 tokens";
  }
  throw std::logic_error("no such TokenRange");
}

}  // namespace rollcast
