#include "models/kernels.hpp"

#include <algorithm>
#include <utility>

#include "models/profile.hpp"

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

template <class T, class Same>
void add_missing(std::vector<T>& tables, T stand_in, Same const& is_same) {
  for (T const& t : tables) {
    if (is_same(t, stand_in)) return;
  }
  tables.push_back(std::move(stand_in));
}

}  // namespace

void add_attention_stand_ins(KernelTables& tables) {
  for (AttentionTable t : std::vector<AttentionTable>(tables.attention)) {
    if (!same(t.kv_bytes, 2) || !same(t.window, 0)) continue;
    for (double const window : {0.0, 128.0, 1024.0, 4096.0, 8192.0}) {
      for (double const kv_bytes : {2.0, 1.0}) {
        t.window = window;
        t.kv_bytes = kv_bytes;
        add_missing(tables.attention, t, [](AttentionTable const& a, AttentionTable const& b) {
          return a.kind == b.kind && same(a.kv_bytes, b.kv_bytes) && same(a.window, b.window);
        });
      }
    }
  }
}

void add_stand_ins(KernelTables& tables, Gpu const& gpu) {
  for (GemmTable t : std::vector<GemmTable>(tables.gemm)) {
    if (t.kind != GemmKind::bf16 || same_rates(card_of(t, gpu), gpu)) continue;
    for (GemmKind const kind : {GemmKind::fp8, GemmKind::fp8_block}) {
      t.kind = kind;
      add_missing(tables.gemm, t, [](GemmTable const& a, GemmTable const& b) { return a.kind == b.kind; });
    }
  }
  for (MoeTable t : std::vector<MoeTable>(tables.moe)) {
    if (t.kind != GemmKind::bf16 || same_rates(card_of(t, gpu), gpu)) continue;
    t.kind = GemmKind::fp8_block;
    add_missing(tables.moe, t, [](MoeTable const& a, MoeTable const& b) {
      return stands_for(a.kind, b.kind) && a.distribution == b.distribution;
    });
  }
}

Kernels::Kernels(KernelTables tables, Gpu const& gpu, OtherPrices others)
    : tables_(std::move(tables)), gpu_(gpu), others_(others) {
  add_attention_stand_ins(tables_);
  add_stand_ins(tables_, gpu_);
}

GemmPrices const* Kernels::gemm(GemmKind kind) const {
  if (gpu_.fp8.value <= 0) kind = GemmKind::bf16;
  auto const index = static_cast<std::size_t>(kind);
  GemmPrices& prices = gemm_[index];
  std::call_once(made_[index], [&] {
    auto const table = std::find_if(tables_.gemm.begin(), tables_.gemm.end(),
                                    [&](GemmTable const& t) { return t.kind == kind; });
    if (table != tables_.gemm.end()) prices = GemmPrices(*table, card_of(*table, gpu_), gpu_);
  });
  return prices.empty() ? nullptr : &prices;
}

std::optional<AttentionPrices> Kernels::attention(AttentionKind kind, double kv_bytes, double window,
                                                  HeadShape heads) const {
  for (AttentionTable const& t : tables_.attention) {
    if (t.kind == kind && same(t.kv_bytes, kv_bytes) && same(t.window, window))
      return AttentionPrices(t, card_of(t, gpu_), gpu_, heads);
  }
  return std::nullopt;
}

Seconds Kernels::shortest_attention(AttentionKind kind) const {
  Seconds shortest;
  for (AttentionTable const& t : tables_.attention) {
    if (t.kind != kind) continue;
    shortest = shortest > Seconds(0) ? min(shortest, t.shortest) : t.shortest;
  }
  return shortest;
}

std::optional<MoePrices> Kernels::moe(GemmKind kind, MoeShape const& shape) const {
  if (gpu_.fp8.value <= 0) kind = GemmKind::bf16;
  auto const rank = [&](MoeTable const& t) {
    return std::pair{!same_rates(card_of(t, gpu_), gpu_), evenness(t)};
  };
  MoeTable const* best = nullptr;
  for (MoeTable const& t : tables_.moe) {
    if (stands_for(t.kind, kind) && (best == nullptr || rank(t) < rank(*best))) best = &t;
  }
  if (best == nullptr) return std::nullopt;
  return MoePrices(*best, card_of(*best, gpu_), gpu_, shape);
}

OtherPrices other_prices(Profile const& p) { return p.kernels ? p.kernels->others() : OtherPrices{}; }

}  // namespace rollcast
