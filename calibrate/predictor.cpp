#include "calibrate/predictor.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>

#include "models/catalog/catalog.hpp"
#include "models/layer_prices.hpp"
#include "models/pass_prices.hpp"
#include "models/sustained_clock.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;                // B, bf16
constexpr double kBackwardOverForward = 2.5;  // FLOPs of the backward over the forward's

std::optional<DType> dtype_of(Sample const& s) {
  if (s.dtype == "bf16" || s.dtype == "fp16") return DType::bf16;
  if (s.dtype == "fp8" || s.dtype == "fp8_block") return DType::fp8;
  if (s.dtype == "fp32") return DType::fp32;
  return std::nullopt;
}

std::optional<Seconds> gemm(Profile const& p, Sample const& s) {
  auto const dtype = dtype_of(s);
  if (!dtype) return std::nullopt;
  Seconds const burst = gemm_time(p, s.shape[0], s.shape[1], s.shape[2], *dtype);
  auto const kind = gemm_kind_of(s.dtype);
  if (!s.variant.ends_with("sustained") || !kind) return burst;
  return sustained_time(burst, p.gpu, *kind, s.shape[0], s.shape[1], s.shape[2], p.sustained_clock.value);
}

// Causal: token i of `length` sees `prefix` + i tokens, at most `window`.
double pairs_of(double length, double prefix, double window) {
  double const full = std::clamp(prefix + length - window, 0.0, length);  // tokens that see a full window
  double const short_of = length - full;
  double const pairs = short_of * prefix + short_of * (short_of + 1) / 2;
  return full > 0 ? pairs + full * window : pairs;
}

std::optional<Seconds> prefill(Profile const& p, Sample const& s) {
  double const pairs = s.shape[0] * pairs_of(s.shape[1], s.shape[2], window_of(s.variant));
  return Flops(4 * pairs * s.shape[3] * s.shape[5]) / (p.gpu.bf16 * p.attention_forward.value);
}

std::optional<Seconds> backward(Profile const& p, Sample const& s) {
  Flops const forward(4 * s.shape[0] * pairs_of(s.shape[1], 0, window_of(s.variant)) * s.shape[2] *
                      s.shape[4]);
  Seconds const back = forward * kBackwardOverForward / (p.gpu.bf16 * p.attention_backward.value);
  if (s.variant.find("forward") == std::string::npos) return back;
  return back + forward / (p.gpu.bf16 * p.attention_forward.value);
}

std::optional<Seconds> decode(Profile const& p, Sample const& s) {
  double const context = std::min(s.shape[1], window_of(s.variant));
  double const element = s.dtype == "fp8" ? 1 : kElement;
  return bytes(2 * s.shape[0] * context * s.shape[3] * s.shape[4] * element) /
         (p.gpu.memory_bandwidth * p.decode_attention.value);
}

std::optional<Seconds> experts(Profile const& p, Sample const& s) {
  auto const dtype = dtype_of(s);
  if (!dtype) return std::nullopt;
  double const tokens = s.shape[0], hidden = s.shape[1], inner = s.shape[2] / s.shape[5];
  Matmul m;
  m.copies = s.shape[3] / s.shape[6];
  m.hit = s.shape[4] / s.shape[3];
  m.rows_per_token = s.shape[4] / s.shape[6];
  m.n = 2 * inner;
  m.k = hidden;
  Seconds const up = matmul_time(p, m, tokens, *dtype, 1);
  m.n = hidden;
  m.k = inner;
  return up + matmul_time(p, m, tokens, *dtype, 1);
}

std::optional<Seconds> pass(Profile const& p, Sample const& s) {
  auto const moved = bytes_of_pass(s.variant, s.shape[0] * s.shape[1]);
  return moved ? std::optional<Seconds>(memory_time(p, *moved)) : std::nullopt;
}

std::optional<Seconds> collective(Profile const& p, Sample const& s, CollectiveKind kind) {
  bool const unknown_fabric = s.shape[2] > 1 && s.fabric.empty();
  auto cluster = cluster_of(p.gpu, s, static_cast<int>(s.shape[2]));
  if (unknown_fabric || !cluster) return std::nullopt;
  if (!s.fabric.empty()) cluster->node.nic = cluster->fabric.nic;
  Group const group{static_cast<int>(s.shape[1]), static_cast<int>(s.shape[2]), 1};
  CollectivePrice price = collective_price(p, *cluster, kind, group, Bytes(s.shape[0]));
  if (s.variant.starts_with("vllm") || s.variant.starts_with("sglang")) {
    if (!s.variant.ends_with("graph")) return std::nullopt;
    price.alpha = min(price.alpha, Seconds(p.engine_all_reduce_alpha.value));
  }
  return price.total();
}

std::optional<Seconds> copy(Profile const& p, Sample const& s) {
  Bytes const moved(s.shape[0]);
  if (s.variant == "h2d") return copy_time(p, moved, Direction::host_to_device);
  if (s.variant == "d2h") return copy_time(p, moved, Direction::device_to_host);
  if (s.variant == "peer" && p.gpu.nvlink.value > 0) return moved / (p.gpu.nvlink * p.nvlink.value);
  return std::nullopt;
}

std::optional<Seconds> launch(Profile const& p, Sample const& s) {
  if (!s.variant.starts_with("stream")) return std::nullopt;
  return Seconds(p.kernel_launch.value) * s.shape[0];
}

}  // namespace

std::optional<Bytes> bytes_of_pass(std::string const& variant, double elements) {
  constexpr std::string_view kSustained = "_sustained";
  std::string_view name = variant;
  if (name.ends_with(kSustained)) name.remove_suffix(kSustained.size());
  auto const kind = pass_kind_of(name);
  return kind ? std::optional<Bytes>(bytes(elements * bytes_per_element(*kind))) : std::nullopt;
}

std::optional<ClusterSpec> cluster_of(Gpu const& gpu, Sample const& s, int nodes) {
  Catalog const& catalog = builtin_catalog();
  for (Node const& n : catalog.nodes) {
    if (n.gpu.name != gpu.name) continue;
    Fabric const* fabric = find_fabric(catalog, s.fabric.empty() ? n.fabric : s.fabric);
    if (fabric == nullptr) return std::nullopt;
    return ClusterSpec{n, nodes, *fabric};
  }
  return std::nullopt;
}

double window_of(std::string const& variant) {
  constexpr std::string_view kWord = "window ";
  auto const at = variant.rfind(kWord);
  double tokens = 0;
  if (at != std::string::npos) {
    char const* const first = variant.data() + at + kWord.size();
    auto const [end, error] = std::from_chars(first, variant.data() + variant.size(), tokens);
    if (error == std::errc() && tokens > 0) return tokens;
  }
  return std::numeric_limits<double>::infinity();
}

std::vector<Predictor> datasheet_predictors(Profile const& p) {
  using Price = std::optional<Seconds> (*)(Profile const&, Sample const&);
  std::vector<Predictor> all;
  auto const add = [&](char const* operation, Price price) {
    all.push_back({operation, [p, price](Sample const& s) { return price(p, s); }, {}});
  };
  add("gemm", gemm);
  add("attention_prefill", prefill);
  add("attention_backward", backward);
  add("attention_decode", decode);
  add("moe", experts);
  add("memory_pass", pass);
  add("copy", copy);
  add("launch", launch);
  for (CollectiveKind const kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
        CollectiveKind::broadcast, CollectiveKind::all_to_all, CollectiveKind::send_recv}) {
    all.push_back(
        {std::string(name_of(kind)), [p, kind](Sample const& s) { return collective(p, s, kind); }, {}});
  }
  return all;
}

std::optional<Seconds> predicted(std::vector<Predictor> const& predictors, Sample const& s) {
  for (Predictor const& p : predictors) {
    if (p.operation != s.operation) continue;
    if (auto const price = p.price(s)) return price;
  }
  return std::nullopt;
}

bool is_knot(std::vector<Predictor> const& predictors, Sample const& s) {
  for (Predictor const& p : predictors) {
    if (p.operation == s.operation && p.price(s)) return p.is_knot && p.is_knot(s);
  }
  return false;
}

}  // namespace rollcast
