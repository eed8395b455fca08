#include "models/moe_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "models/monotone.hpp"
#include "models/random.hpp"
#include "models/table_text.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kNearest = 4;
constexpr double kFarFamily = 0.3;  // weight of the squared distance in ep and in the number of experts
constexpr double kNoDistance = 1e-3;
constexpr double kRidge = 2;
constexpr double kShortestPart = 0.05;
constexpr std::size_t kHeaderLines = 5;

std::array<double, 6> numbers_of(MoeShape const& s) {
  return {s.hidden, s.intermediate, s.experts, s.top_k, s.tp, s.ep};
}

bool same(double a, double b) { return !(a < b) && !(b < a); }

bool same_experts(MoeShape const& a, MoeShape const& b) {
  return same(a.hidden, b.hidden) && same(a.intermediate, b.intermediate) && same(a.experts, b.experts) &&
         same(a.top_k, b.top_k);
}

struct Source {
  std::size_t shape;
  double weight;
};

double cut_of(MoeShape const& s, bool tp) { return tp ? s.tp : s.ep; }

// The two measured cuts around `wanted` that differ in tp alone (or in ep alone).
void add_between(MoeTable const& t, MoeShape const& wanted, bool tp, std::vector<Source>& sources) {
  double const here = cut_of(wanted, tp);
  std::size_t const none = t.shapes.size();
  std::size_t low = none;
  std::size_t high = none;
  for (std::size_t i = 0; i < t.shapes.size(); ++i) {
    MoeShape const& s = t.shapes[i];
    if (!same_experts(s, wanted) || !same(cut_of(s, !tp), cut_of(wanted, !tp))) continue;
    double const v = cut_of(s, tp);
    if (v < here && (low == none || v > cut_of(t.shapes[low], tp))) low = i;
    if (v > here && (high == none || v < cut_of(t.shapes[high], tp))) high = i;
  }
  if (low == none || high == none) return;
  double const from = cut_of(t.shapes[low], tp);
  double const weight = portable_log(here / from) / portable_log(cut_of(t.shapes[high], tp) / from);
  sources.push_back({low, 1 - weight});
  sources.push_back({high, weight});
}

double squared_distance(MoeShape const& a, MoeShape const& b) {
  auto const square_log = [](double x, double y) {
    double const d = portable_log(x / y);
    return d * d;
  };
  return square_log(a.hidden, b.hidden) + square_log(a.intermediate / a.tp, b.intermediate / b.tp) +
         square_log(a.experts / a.ep, b.experts / b.ep) + square_log(a.top_k, b.top_k) +
         kFarFamily * (square_log(a.ep, b.ep) + square_log(a.experts, b.experts));
}

std::vector<Source> nearest_to(MoeTable const& t, MoeShape const& wanted) {
  std::vector<Source> all;
  for (std::size_t i = 0; i < t.shapes.size(); ++i) {
    double const distance = std::sqrt(squared_distance(t.shapes[i], wanted)) + kNoDistance;
    all.push_back({i, 1 / (distance * distance)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](Source const& a, Source const& b) { return a.weight > b.weight; });
  all.resize(std::min(all.size(), kNearest));
  return all;
}

std::vector<Source> sources_of(MoeTable const& t, MoeShape const& wanted) {
  for (std::size_t i = 0; i < t.shapes.size(); ++i) {
    MoeShape const& s = t.shapes[i];
    if (same_experts(s, wanted) && same(s.tp, wanted.tp) && same(s.ep, wanted.ep)) return {{i, 1}};
  }
  std::vector<Source> sources;
  add_between(t, wanted, /*tp=*/true, sources);
  add_between(t, wanted, /*tp=*/false, sources);
  if (sources.empty()) sources = nearest_to(t, wanted);
  double sum = 0;
  for (Source const& s : sources) sum += s.weight;
  for (Source& s : sources) s.weight /= sum;
  return sources;
}

// Log ratios of one shape over all knots.
std::vector<double> completed(MoeTable const& t, std::size_t shape) {
  std::vector<double> row;
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < t.tokens.size(); ++i) {
    row.push_back(t.log_ratio[shape * t.tokens.size() + i]);
    if (!std::isnan(row.back())) known.push_back(i);
  }
  for (std::size_t i = 0; i < row.size() && !known.empty(); ++i) {
    auto const after = std::lower_bound(known.begin(), known.end(), i);
    if (after == known.end()) {
      row[i] = row[known.back()];
    } else if (after == known.begin() || *after == i) {
      row[i] = row[*after];
    } else {
      std::size_t const low = *(after - 1);
      double const weight =
          portable_log(t.tokens[i] / t.tokens[low]) / portable_log(t.tokens[*after] / t.tokens[low]);
      row[i] = row[low] + weight * (row[*after] - row[low]);
    }
  }
  return row;
}

std::string read_header(std::vector<std::string_view> const& lines, MoeTable& t, LogScale& scale) {
  std::array<std::string_view, kHeaderLines> const names = {"moe", "distribution", "shortest", "tokens",
                                                            "log"};
  if (lines.size() < kHeaderLines) {
    return "a moe table starts with the lines moe, distribution, shortest, tokens, log";
  }
  std::array<std::vector<double>, kHeaderLines> numbers;
  for (std::size_t i = 0; i < kHeaderLines; ++i) {
    std::vector<std::string_view> const words = split_words(lines[i]);
    if (words.size() < 2 || words[0] != names[i]) {
      return fmt::format("line {} of a moe table starts with \"{}\"", i + 1, names[i]);
    }
    if (i == 0) {
      std::optional<GemmKind> const kind = gemm_kind_of(words[1]);
      if (!kind) return fmt::format("\"{}\" is no kind of gemm; bf16, fp8 and fp8_block are", words[1]);
      t.kind = *kind;
    } else if (i == 1) {
      t.distribution = std::string(words[1]);
    } else if (!read_numbers(words, 1, numbers[i])) {
      return fmt::format("line {} of a moe table holds numbers after \"{}\"", i + 1, names[i]);
    }
  }
  if (numbers[2].size() != 1 || !(numbers[2][0] > 0)) return "shortest is one number above 0";
  t.shortest = seconds(numbers[2][0]);
  t.tokens = numbers[3];
  if (!ascends(t.tokens)) return "knots of tokens ascend from above 0";
  if (numbers[4].size() != 2 || !(numbers[4][1] > 0)) return "log has an offset and a step above 0";
  scale = {numbers[4][0], numbers[4][1]};
  return {};
}

struct Limits {
  Seconds flops;
  Seconds bytes;
};

Limits limits_of(Gpu const& gpu, GemmKind kind, MoeShape const& s, double tokens) {
  double const element = kind == GemmKind::bf16 ? 2 : 1;
  double const arrivals = tokens * s.top_k / s.ep;
  double const width = s.intermediate / s.tp;
  double const missed =
      s.top_k < s.experts ? portable_exp(tokens * portable_log(1 - s.top_k / s.experts)) : 0;
  double const weights = 3 * s.hidden * width * (1 - missed) * s.experts / s.ep;
  double const activations = arrivals * (2 * s.hidden + 3 * width) + 2 * tokens * s.hidden;
  return {Flops(6 * arrivals * s.hidden * width) / matrix_peak(gpu, kind),
          bytes(element * weights + 2 * activations) / gpu.memory_bandwidth};
}

}  // namespace

Seconds moe_roofline(Gpu const& gpu, GemmKind kind, MoeShape const& s, double tokens) {
  Limits const l = limits_of(gpu, kind, s, tokens);
  return max(l.flops, l.bytes);
}

Seconds moe_blend(Gpu const& gpu, MoeTable const& t, MoeShape const& s, double tokens) {
  Limits const l = limits_of(gpu, t.kind, s, tokens);
  return rounded_ridge(l.flops * kRidge, l.bytes) + t.shortest * kShortestPart;
}

std::string to_text(MoeTable const& t) {
  LogScale const scale = scale_of(t.log_ratio);
  std::string text = fmt::format("moe {}\ndistribution {}\nshortest {}\ntokens {}\nlog {}\n", name_of(t.kind),
                                 t.distribution.empty() ? "unknown" : t.distribution,
                                 join({t.shortest.value}), join(t.tokens), join({scale.offset, scale.step}));
  auto row = t.log_ratio.begin();
  for (MoeShape const& s : t.shapes) {
    auto const next = row + static_cast<std::ptrdiff_t>(t.tokens.size());
    std::array<double, 6> const numbers = numbers_of(s);
    text += fmt::format("{} {}\n", join({numbers.begin(), numbers.end()}), encode({row, next}, scale));
    row = next;
  }
  return text;
}

Parsed<MoeTable> moe_table_from(std::string_view text) {
  MoeTable t;
  LogScale scale;
  std::vector<std::string_view> const lines = split_lines(text);
  if (std::string error = read_header(lines, t, scale); !error.empty())
    return {std::nullopt, std::move(error)};
  std::vector<double> row;
  std::vector<double> n;
  for (std::size_t l = kHeaderLines; l < lines.size(); ++l) {
    std::vector<std::string_view> words = split_words(lines[l]);
    std::string_view const codes = words.back();
    words.pop_back();
    bool const good = words.size() == 6 && read_numbers(words, 0, n) && decode(codes, scale, row) &&
                      row.size() == t.tokens.size() &&
                      std::all_of(n.begin(), n.end(), [](double v) { return v > 0; }) &&
                      !std::all_of(row.begin(), row.end(), [](double v) { return std::isnan(v); });
    if (!good) {
      return {std::nullopt, fmt::format("line {} of a moe table is \"hidden intermediate experts top_k tp ep "
                                        "codes\" with two characters for each number of tokens",
                                        l + 1)};
    }
    t.shapes.push_back({n[0], n[1], n[2], n[3], n[4], n[5]});
    t.log_ratio.insert(t.log_ratio.end(), row.begin(), row.end());
  }
  if (t.shapes.empty()) return {std::nullopt, "a moe table holds at least one measured time"};
  return {std::move(t), {}};
}

MoePrices::MoePrices(MoeTable const& table, Gpu const& measured_on, Gpu const& gpu, MoeShape const& shape) {
  if (table.shapes.empty() || table.tokens.empty()) {
    throw std::logic_error("a moe table without a measured value has no prices");
  }
  for (double const v : numbers_of(shape)) {
    if (!(v > 0)) throw std::logic_error("the numbers of a moe shape are above 0");
  }
  log_time_.assign(table.tokens.size(), 0);
  for (Source const& s : sources_of(table, shape)) {
    std::vector<double> const row = completed(table, s.shape);
    for (std::size_t i = 0; i < row.size(); ++i) log_time_[i] += s.weight * row[i];
  }
  bool const carried = !same_rates(measured_on, gpu);
  for (std::size_t i = 0; i < table.tokens.size(); ++i) {
    double const tokens = table.tokens[i];
    Seconds const roof = moe_roofline(measured_on, table.kind, shape, tokens);
    log_time_[i] += portable_log((table.shortest + roof).value);
    if (carried) {
      double const ratio =
          moe_blend(gpu, table, shape, tokens) / moe_blend(measured_on, table, shape, tokens);
      log_time_[i] = std::max(log_time_[i] + portable_log(ratio), portable_log(table.shortest.value));
    }
    log_tokens_.push_back(portable_log(table.tokens[i]));
  }
  make_line_ascending(log_time_, 0, 1, log_time_.size());
}

Seconds MoePrices::at(double tokens) const {
  if (!(tokens > 0)) return Seconds(0);
  double const log = portable_log(tokens);
  if (log <= log_tokens_.front()) return seconds(portable_exp(log_time_.front()));
  if (log >= log_tokens_.back()) return seconds(portable_exp(log_time_.back() + log - log_tokens_.back()));
  auto const high = static_cast<std::size_t>(std::upper_bound(log_tokens_.begin(), log_tokens_.end(), log) -
                                             log_tokens_.begin());
  double const weight = (log - log_tokens_[high - 1]) / (log_tokens_[high] - log_tokens_[high - 1]);
  return seconds(portable_exp(log_time_[high - 1] + weight * (log_time_[high] - log_time_[high - 1])));
}

Seconds price(MoeTable const& table, Gpu const& gpu, MoeShape const& shape, double tokens) {
  return MoePrices(table, gpu, shape).at(tokens);
}

}  // namespace rollcast
