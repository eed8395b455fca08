#include "calibrate/measured_predictors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "calibrate/collective_predictors.hpp"
#include "calibrate/datasheet.hpp"
#include "calibrate/fit_numbers.hpp"
#include "models/sustained_clock.hpp"

namespace rollcast {
namespace {

using Shape = std::tuple<double, double, double>;

std::optional<std::size_t> place(std::vector<double> const& knots, double v) {
  auto const it = std::lower_bound(knots.begin(), knots.end(), v);
  if (it == knots.end() || v < *it) return std::nullopt;
  return static_cast<std::size_t>(it - knots.begin());
}

Predictor gemm_predictor(GemmTable const& table, Gpu const& measured_on, Gpu const& gpu,
                         double sustained_clock) {
  auto const prices = std::make_shared<GemmPrices>(table, measured_on, gpu);
  auto const cells = std::make_shared<GemmTable>(table);
  auto const fits = [kind = table.kind](Sample const& s) { return gemm_kind_of(s.dtype) == kind; };
  return {"gemm",
          [prices, fits, gpu, kind = table.kind, sustained_clock](Sample const& s) -> std::optional<Seconds> {
            if (!fits(s)) return std::nullopt;
            double const m = s.shape[0], n = s.shape[1], k = s.shape[2];
            Seconds const burst = prices->at(m, n, k);
            if (!s.variant.ends_with("sustained")) return burst;
            return sustained_time(burst, gpu, kind, m, n, k, sustained_clock);
          },
          [cells, fits](Sample const& s) {
            auto const m = place(cells->m, s.shape[0]), n = place(cells->n, s.shape[1]);
            auto const k = place(cells->k, s.shape[2]);
            return fits(s) && m && n && k && !std::isnan(cells->at(*n, *k, *m));
          }};
}

// Shape of an attention sample: batch, length, then heads; a prefill has its prefix between.
HeadShape heads_of(Sample const& s) {
  std::size_t const at = s.operation == "attention_prefill" ? 3 : 2;
  return {s.shape[at], s.shape[at + 1], s.shape[at + 2]};
}

bool same(HeadShape const& a, HeadShape const& b) {
  return std::tie(a.heads, a.kv_heads, a.head_dim) == std::tie(b.heads, b.kv_heads, b.head_dim);
}

bool is_cell(AttentionTable const& t, Sample const& s) {
  auto const batch = place(t.batch, s.shape[0]), length = place(t.length, s.shape[1]);
  HeadShape const heads = heads_of(s);
  for (std::size_t i = 0; batch && length && i < t.shapes.size(); ++i) {
    if (same(t.shapes[i], heads))
      return !std::isnan(t.log_ratio[(i * t.batch.size() + *batch) * t.length.size() + *length]);
  }
  return false;
}

Predictor attention_predictor(AttentionTable const& table, Gpu const& measured_on, Gpu const& gpu) {
  auto const cells = std::make_shared<AttentionTable>(table);
  // A price needs a grid per head configuration; each is made once.
  auto const bound = std::make_shared<std::map<Shape, AttentionPrices>>();
  std::string const operation =
      table.kind == AttentionKind::decode ? "attention_decode" : "attention_prefill";
  auto const fits = [cells](Sample const& s) {
    double const window = std::isinf(window_of(s.variant)) ? 0 : window_of(s.variant);
    double const element = s.dtype == "fp8" ? 1 : 2;
    return !(window < cells->window) && !(cells->window < window) && !(element < cells->kv_bytes) &&
           !(cells->kv_bytes < element);
  };
  return {operation,
          [cells, bound, fits, measured_on, gpu](Sample const& s) -> std::optional<Seconds> {
            if (!fits(s)) return std::nullopt;
            HeadShape const heads = heads_of(s);
            Shape const key{heads.heads, heads.kv_heads, heads.head_dim};
            auto it = bound->find(key);
            if (it == bound->end())
              it = bound->emplace(key, AttentionPrices(*cells, measured_on, gpu, heads)).first;
            if (s.operation == "attention_prefill" && s.shape[2] > 0)
              return it->second.with_prefix(s.shape[0], s.shape[1], s.shape[2]);
            return it->second.at(s.shape[0], s.shape[1]);
          },
          [cells, fits](Sample const& s) { return fits(s) && is_cell(*cells, s); }};
}

MoeShape moe_shape(Sample const& s) {
  return {s.shape[1], s.shape[2], s.shape[3], s.shape[4], s.shape[5], s.shape[6]};
}

bool is_cell(MoeTable const& t, Sample const& s) {
  auto const tokens = place(t.tokens, s.shape[0]);
  MoeShape const b = moe_shape(s);
  for (std::size_t i = 0; tokens && i < t.shapes.size(); ++i) {
    MoeShape const& a = t.shapes[i];
    if (std::tie(a.hidden, a.intermediate, a.experts, a.top_k, a.tp, a.ep) ==
        std::tie(b.hidden, b.intermediate, b.experts, b.top_k, b.tp, b.ep))
      return !std::isnan(t.log_ratio[i * t.tokens.size() + *tokens]);
  }
  return false;
}

Predictor moe_predictor(MoeTable const& table, Gpu const& measured_on, Gpu const& gpu) {
  auto const cells = std::make_shared<MoeTable>(table);
  auto const bound = std::make_shared<std::map<std::vector<double>, MoePrices>>();
  auto const fits = [cells](Sample const& s) {
    return gemm_kind_of(s.dtype) == cells->kind && s.variant.ends_with(cells->distribution);
  };
  return {"moe",
          [cells, bound, fits, measured_on, gpu](Sample const& s) -> std::optional<Seconds> {
            if (!fits(s)) return std::nullopt;
            std::vector<double> const key(s.shape.begin() + 1, s.shape.end());
            auto it = bound->find(key);
            if (it == bound->end())
              it = bound->emplace(key, MoePrices(*cells, measured_on, gpu, moe_shape(s))).first;
            return it->second.at(s.shape[0]);
          },
          [cells, fits](Sample const& s) { return fits(s) && is_cell(*cells, s); }};
}

Predictor pass_predictor(PassTable const& table, Gpu const& gpu) {
  return {"memory_pass",
          [table, gpu](Sample const& s) -> std::optional<Seconds> {
            auto const kind = pass_kind_of(s.variant);
            if (!kind || s.dtype != (*kind == ElementwisePass::adam ? "fp32" : "bf16")) return std::nullopt;
            return pass_time(table, gpu, *kind, s.shape[0], s.shape[1]);
          },
          {}};
}

// prices: of the forward.
Predictor backward_predictor(std::vector<Predictor> const& prices, double over_forward) {
  return {"attention_backward",
          [prices, over_forward](Sample const& s) -> std::optional<Seconds> {
            auto const forward = predicted(prices, forward_of(s));
            if (!forward) return std::nullopt;
            return *forward * (over_forward + (has_forward(s) ? 1 : 0));
          },
          {}};
}

// "attention_decode window 128" of bf16 is of the table "attention_decode bf16 window 128".
std::string table_of(OperationNote const& o) {
  std::size_t const end = std::min(o.operation.find(' '), o.operation.size());
  return o.operation.substr(0, end) + " " + o.dtype + o.operation.substr(end);
}

std::string name_of_table(GemmTable const& t) { return fmt::format("gemm {}", name_of(t.kind)); }
std::string name_of_table(MoeTable const& t) {
  return fmt::format("moe {} {}", name_of(t.kind), t.distribution);
}
std::string name_of_table(AttentionTable const& t) {
  std::string const window = t.window > 0 ? fmt::format(" window {:.0f}", t.window) : "";
  return fmt::format("attention_{} {}{}", name_of(t.kind), t.kv_bytes < 2 ? "fp8" : "bf16", window);
}

// Cells of a table are knots for the software that its text names.
std::function<bool(Sample const&)> of_own_software(std::function<bool(Sample const&)> is_cell,
                                                   std::string const& table, ProfileTexts const& texts) {
  std::set<std::string> software;
  for (ProfileText const& text : texts) {
    auto const is_it = [&](ProfileTable const& t) { return t.name == table; };
    if (std::none_of(text.tables.begin(), text.tables.end(), is_it)) continue;
    for (OperationNote const& o : text.operations) {
      if (table_of(o) == table) software.insert(o.software);
    }
    break;
  }
  return [is_cell = std::move(is_cell), software = std::move(software)](Sample const& s) {
    // Where no note tells the software, every measured cell may be of any.
    return (software.empty() || software.contains(s.version)) && is_cell(s);
  };
}

}  // namespace

std::vector<Predictor> measured_predictors(KernelTables const& measured, ProfileTexts const& texts,
                                           Gpu const& gpu) {
  double clock = datasheet_profile(gpu).sustained_clock.value;
  std::optional<double> backward;
  for (auto text = texts.rbegin(); text != texts.rend(); ++text) {
    for (auto const& [name, cited] : text->numbers) {
      if (name == "sustained_clock") clock = cited.value;
      if (name == "attention_backward_over_forward") backward = cited.value;
    }
  }
  KernelTables tables = measured;
  bool const carried = std::any_of(tables.attention.begin(), tables.attention.end(),
                                   [&](auto const& t) { return !same_rates(card_of(t, gpu), gpu); });
  if (carried) add_attention_stand_ins(tables);
  add_stand_ins(tables, gpu);
  std::vector<Predictor> all;
  auto const add = [&](auto const& table, Predictor p) {
    // Nothing of this card is in a table of another.
    p.is_knot = card_of(table, gpu).name == gpu.name
                    ? of_own_software(std::move(p.is_knot), name_of_table(table), texts)
                    : nullptr;
    all.push_back(std::move(p));
  };
  for (GemmTable const& t : tables.gemm) add(t, gemm_predictor(t, card_of(t, gpu), gpu, clock));
  for (AttentionTable const& t : tables.attention) add(t, attention_predictor(t, card_of(t, gpu), gpu));
  for (MoeTable const& t : tables.moe) add(t, moe_predictor(t, card_of(t, gpu), gpu));
  for (PassTable const& t : tables.passes) all.push_back(pass_predictor(t, gpu));
  if (backward) all.push_back(backward_predictor(all, *backward));
  for (CollectiveCalibration const& c : tables.collectives) {
    for (Predictor& predictor : collective_predictors(gpu, c)) all.push_back(std::move(predictor));
  }
  return all;
}

}  // namespace rollcast
