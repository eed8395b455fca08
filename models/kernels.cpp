#include "models/kernels.hpp"

#include <algorithm>
#include <utility>

namespace rollcast {
namespace {

constexpr double kSame = 1e-9;

bool same(double a, double b) { return a - b < kSame && b - a < kSame; }

int evenness(MoeTable const& t) {
  if (t.distribution == "power_law_1.01") return 0;
  return t.distribution == "balanced" ? 1 : 2;
}

bool stands_for(GemmKind table, GemmKind wanted) {
  return (table == GemmKind::bf16) == (wanted == GemmKind::bf16);
}

}  // namespace

Kernels::Kernels(KernelTables tables, Gpu const& measured_on, Gpu const& gpu)
    : tables_(std::move(tables)), measured_on_(measured_on), gpu_(gpu) {
  for (GemmTable const& t : tables_.gemm) {
    GemmPrices& prices = gemm_[static_cast<std::size_t>(t.kind)];
    if (prices.empty()) prices = GemmPrices(t, measured_on, gpu_);
  }
}

GemmPrices const* Kernels::gemm(GemmKind kind) const {
  if (gpu_.fp8.value <= 0) kind = GemmKind::bf16;
  GemmPrices const& prices = gemm_[static_cast<std::size_t>(kind)];
  return prices.empty() ? nullptr : &prices;
}

std::optional<AttentionPrices> Kernels::attention(AttentionKind kind, double kv_bytes, double window,
                                                  HeadShape heads) const {
  for (AttentionTable const& t : tables_.attention) {
    if (t.kind == kind && same(t.kv_bytes, kv_bytes) && same(t.window, window))
      return AttentionPrices(t, measured_on_, gpu_, heads);
  }
  return std::nullopt;
}

std::optional<MoePrices> Kernels::moe(GemmKind kind, MoeShape const& shape) const {
  if (gpu_.fp8.value <= 0) kind = GemmKind::bf16;
  MoeTable const* best = nullptr;
  for (MoeTable const& t : tables_.moe) {
    if (stands_for(t.kind, kind) && (best == nullptr || evenness(t) < evenness(*best))) best = &t;
  }
  if (best == nullptr) return std::nullopt;
  return MoePrices(*best, measured_on_, gpu_, shape);
}

}  // namespace rollcast
