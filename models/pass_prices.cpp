#include "models/pass_prices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "models/table_text.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;  // B, bf16
constexpr double kCacheShare = 0.5;

struct Row {
  ElementwisePass kind;
  std::string_view name;
  double bytes;
};
constexpr std::array<Row, 7> kRows = {{{ElementwisePass::norm, "norm", 2 * kElement},
                                       {ElementwisePass::rope, "rope", 2 * kElement},
                                       {ElementwisePass::activation, "activation", 3 * kElement},
                                       {ElementwisePass::add, "add", 3 * kElement},
                                       {ElementwisePass::embedding, "embedding", 2 * kElement},
                                       {ElementwisePass::log_softmax, "log_softmax", kElement},
                                       {ElementwisePass::adam, "adam", 28}}};

Row const& row_of(ElementwisePass kind) {
  for (Row const& r : kRows) {
    if (r.kind == kind) return r;
  }
  throw std::logic_error("no such ElementwisePass");
}

PassLaw const* find_law(PassTable const& t, ElementwisePass kind) {
  auto const it =
      std::find_if(t.laws.begin(), t.laws.end(), [&](PassLaw const& l) { return l.kind == kind; });
  return it == t.laws.end() ? nullptr : &*it;
}

Seconds latency_of(PassLaw const& l, double width) { return l.latency + l.latency_per_element * width; }

Seconds flow_of(PassLaw const& l, Gpu const& gpu, double tokens, double width) {
  Bytes const moved = bytes(tokens * width * bytes_per_element(l.kind));
  Bytes const uncached = max(Bytes(0), moved - kCacheShare * gpu.l2);
  return l.per_token * tokens + moved / gpu.memory_bandwidth * l.per_byte +
         uncached / gpu.memory_bandwidth * l.beyond_cache;
}

Seconds joined(Seconds latency, Seconds flow) {
  return Seconds(std::sqrt(latency.value * latency.value + flow.value * flow.value));
}

}  // namespace

std::string_view name_of(ElementwisePass kind) { return row_of(kind).name; }

std::optional<ElementwisePass> pass_kind_of(std::string_view name) {
  for (Row const& r : kRows) {
    if (r.name == name) return r.kind;
  }
  return std::nullopt;
}

double bytes_per_element(ElementwisePass kind) { return row_of(kind).bytes; }

Seconds pass_time(PassLaw const& law, Gpu const& gpu, double tokens, double width) {
  if (!(tokens > 0)) return Seconds(0);
  return joined(latency_of(law, width), flow_of(law, gpu, tokens, width));
}

std::optional<Seconds> pass_time(PassTable const& t, Gpu const& gpu, ElementwisePass kind, double tokens,
                                 double width) {
  PassLaw const* law = find_law(t, kind);
  if (law == nullptr) return std::nullopt;
  return pass_time(*law, gpu, tokens, width);
}

std::optional<Seconds> fused_time(PassTable const& t, Gpu const& gpu,
                                  std::vector<ElementwisePass> const& kinds, double tokens, double width) {
  if (!(tokens > 0) || kinds.empty()) return Seconds(0);
  Seconds latency;
  Seconds flow;
  double apart = 0;
  for (ElementwisePass const kind : kinds) {
    PassLaw const* law = find_law(t, kind);
    if (law == nullptr) return std::nullopt;
    latency = max(latency, latency_of(*law, width));
    flow += flow_of(*law, gpu, tokens, width);
    apart += bytes_per_element(kind);
  }
  double const saved = kElement * static_cast<double>(kinds.size() - 1);
  return joined(latency, flow * ((apart - saved) / apart));
}

std::string to_text(PassTable const& t) {
  std::string text;
  for (PassLaw const& l : t.laws) {
    text += fmt::format(
        "{} {}\n", name_of(l.kind),
        join({l.latency.value, l.latency_per_element.value, l.per_token.value, l.per_byte, l.beyond_cache}));
  }
  return text;
}

Parsed<PassTable> pass_table_from(std::string_view text) {
  PassTable t;
  std::vector<double> n;
  std::vector<std::string_view> const lines = split_lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string_view> const words = split_words(lines[i]);
    std::optional<ElementwisePass> const kind = pass_kind_of(words[0]);
    bool const good = kind && find_law(t, *kind) == nullptr && read_numbers(words, 1, n) && n.size() == 5 &&
                      std::all_of(n.begin(), n.end(), [](double v) { return v >= 0 && std::isfinite(v); }) &&
                      n[0] + n[3] + n[2] > 0;
    if (!good) {
      return {std::nullopt,
              fmt::format("line {} of a table of passes is \"kind latency latency_per_element per_token "
                          "per_byte beyond_cache\", each kind once, no number below 0",
                          i + 1)};
    }
    t.laws.push_back({*kind, seconds(n[0]), seconds(n[1]), seconds(n[2]), n[3], n[4]});
  }
  if (t.laws.empty()) return {std::nullopt, "a table of passes holds at least one"};
  return {std::move(t), {}};
}

}  // namespace rollcast
