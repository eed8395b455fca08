// What was measured of one GPU's kernels, and prices from it: the tables of a profile, bound to a GPU.
//
// What a table does not hold (a type, a window) has no price here: the shares of the profile stand in.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "models/attention_tables.hpp"
#include "models/collective_calibration.hpp"
#include "models/gemm_table.hpp"
#include "models/moe_table.hpp"
#include "models/pass_prices.hpp"

namespace rollcast {

struct KernelTables {
  std::vector<GemmTable> gemm;
  std::vector<AttentionTable> attention;
  std::vector<MoeTable> moe;
  std::vector<CollectiveCalibration> collectives;  // at most one
  std::vector<PassTable> passes;                   // at most one
};

// For attention on an fp8 cache, and with sliding windows of 128 to 8,192 tokens, the table of bf16 (of full
// attention) stands in where there is no own one, as ratios to the roofline of that type or window.
void add_attention_stand_ins(KernelTables& tables);
// Tables of another card may lack more of what `gpu` has: those of bf16 stand in for products and experts in
// fp8, too.
void add_stand_ins(KernelTables& tables, Gpu const& gpu);

// Factors on prices that neither a table nor a number of the profile holds (models/price_draw.hpp draws
// them): of stream_time, and of what a release of an engine adds to its kernels (models/engine_versions.hpp).
struct OtherPrices {
  double streams = 1;
  double releases = 1;
};

// The card that a table was measured on.
template <class T>
Gpu const& card_of(T const& table, Gpu const& gpu) {
  return table.measured_on ? *table.measured_on : gpu;
}

class Kernels {
 public:
  // Prices of `gpu`, with stand-ins for attention; tables of another card are carried over as their headers
  // say, with all stand-ins. Of several tables for the same the first one counts.
  Kernels(KernelTables tables, Gpu const& gpu, OtherPrices others = {});

  // nullptr: not measured. Of a card without fp8 every product is one of bf16.
  GemmPrices const* gemm(GemmKind kind) const;

  // kv_bytes: of one element of the KV cache; window 0: full attention. nullopt: not measured.
  std::optional<AttentionPrices> attention(AttentionKind kind, double kv_bytes, double window,
                                           HeadShape heads) const;

  // Of all tables of this kind; zero without one.
  Seconds shortest_attention(AttentionKind kind) const;

  // A table of the card itself before one that is carried over. Tokens spread over the experts by
  // power_law_1.01 where that was measured (every card's table has it; its busiest expert gets several times
  // the mean, so that it takes an eighth more than balanced tokens), else balanced, else the first. fp8 and
  // fp8_block stand in for each other.
  std::optional<MoePrices> moe(GemmKind kind, MoeShape const& shape) const;

  KernelTables const& tables() const { return tables_; }
  OtherPrices const& others() const { return others_; }

 private:
  KernelTables tables_;
  Gpu gpu_;
  // By kind, each made when it is first asked for: a grid takes milliseconds, a run needs one.
  mutable std::array<std::once_flag, 3> made_;
  mutable std::array<GemmPrices, 3> gemm_;
  OtherPrices others_;
};

struct Profile;
// Of the profile's kernels; of a profile without any, factors of 1.
OtherPrices other_prices(Profile const& p);

}  // namespace rollcast
