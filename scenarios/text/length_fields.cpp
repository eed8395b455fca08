#include "scenarios/text/length_fields.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "scenarios/text/length_file.hpp"

namespace rollcast {
namespace {

constexpr Range kTokens{1, 1e9, false};
constexpr std::size_t kMostComponents = 64;

enum class Mixtures { allowed, nested };

std::optional<SimpleLength> read_lognormal(Fields& f, int max) {
  std::optional<SimpleLength> result;
  f.optional_group("lognormal", "log-normal lengths", [&](Fields& g) {
    double mean = 0, p95 = 0, mu = 0, sigma = 0;
    bool const by_moments = g.has("mean") || g.has("p95");
    bool const by_parameters = g.has("mu") || g.has("sigma");
    std::size_t const before = g.listing() ? 0 : g.reading().problems.size();
    if (by_moments || !by_parameters) {
      g.number("mean", mean, kTokens, "mean length, after the cut at max");
      g.number("p95", p95, kTokens, "95th percentile, after the cut at max");
    }
    if (by_parameters || g.listing()) {
      g.number("mu", mu, {-20, 25, false}, "mean of the logarithm, in place of mean and p95");
      if (g.listing()) g.rows().back().fallback.clear();
      g.number("sigma", sigma, {0, 10, true}, "standard deviation of the logarithm");
    }
    if (g.listing()) return;
    if (by_moments && by_parameters) {
      g.forbid("mu", "mean and p95 say it already");
      g.forbid("sigma", "mean and p95 say it already");
    } else if (by_parameters) {
      g.require("mu", "write mu and sigma");
      g.require("sigma", "write mu and sigma");
      if (g.has("mu") && g.has("sigma")) result = LogNormalLength{mu, sigma, max};
    } else {
      g.require("mean", "write mean and p95");
      g.require("p95", "write mean and p95");
      if (!g.has("mean") || !g.has("p95") || g.reading().problems.size() != before) return;
      LogNormalFit const fit = fit_lognormal(mean, p95, max);
      if (fit.error.empty()) {
        result = fit.lengths;
      } else {
        g.problem(g.mark_of("mean"), "mean", "no such log-normal distribution: " + fit.error,
                  "change mean, p95 or max");
      }
    }
  });
  return result;
}

std::optional<SimpleLength> read_empirical(Fields& f, std::string const& folder) {
  std::optional<SimpleLength> result;
  f.custom("empirical", "file with a length per line, or a list of lengths", "",
           "measured lengths, each equally likely", [&](Value const& v) {
             EmpiricalLength e;
             if (v.kind == ValueKind::scalar) {
               LengthFile file = read_length_file(v.text, folder);
               if (!file.error.empty()) {
                 f.problem(v.mark, "empirical", file.error, "name a file with one length per line");
                 return;
               }
               e.tokens = std::move(file.tokens);
             } else if (v.kind == ValueKind::list) {
               for (Value const& item : v.items) {
                 NumberText const n =
                     item.kind == ValueKind::scalar ? parse_whole_number(item) : NumberText{};
                 if (!n.ok || !holds(kTokens, n.value)) {
                   f.problem(item.mark, "empirical", "not a length in tokens",
                             "write whole numbers of at least 1");
                   return;
                 }
                 e.tokens.push_back(static_cast<int>(n.value));
               }
             }
             if (e.tokens.empty()) {
               f.problem(v.mark, "empirical", "no lengths", "name a file with one length per line");
             } else {
               result = std::move(e);
             }
           });
  bool in_order = false;
  f.flag("in_order", in_order, "of empirical: item i of a step takes the i-th length, and none is drawn");
  if (result) std::get<EmpiricalLength>(*result).in_order = in_order;
  return result;
}

std::optional<SimpleLength> read_fixed(Fields& f) {
  f.allow("fixed");
  if (!f.has("fixed") && !f.listing()) return {};
  int tokens = 0;
  f.integer("fixed", tokens, kTokens, "every length is this one");
  if (tokens == 0) return {};
  return FixedLength{tokens};
}

// The shape keys that a map of lengths has, at most one of which may be given.
int given_shapes(Fields const& f, Mixtures mixtures) {
  int n = 0;
  for (std::string_view key : {"fixed", "lognormal", "empirical"}) n += f.has(key) ? 1 : 0;
  return n + (mixtures == Mixtures::allowed && f.has("mixture") ? 1 : 0);
}

bool check_one_shape(Fields& f, Mark mark, Mixtures mixtures) {
  int const n = given_shapes(f, mixtures);
  std::string const shapes = mixtures == Mixtures::allowed ? "fixed, lognormal, empirical or mixture"
                                                           : "fixed, lognormal or empirical";
  if (n == 0) f.problem_here(mark, "says no lengths", "write one of " + shapes);
  if (n > 1) f.problem_here(mark, "more than one kind of lengths", "keep one of " + shapes);
  return n == 1;
}

std::optional<SimpleLength> read_simple(Fields& f, std::string const& folder, int max) {
  std::optional<SimpleLength> const fixed = read_fixed(f);
  std::optional<SimpleLength> const lognormal = read_lognormal(f, max);
  std::optional<SimpleLength> const empirical = read_empirical(f, folder);
  return fixed ? fixed : lognormal ? lognormal : empirical;
}

int read_max(Fields& f) {
  int max = 0;
  f.allow("max");
  if (f.has("max") || f.listing())
    f.integer("max", max, kTokens, "longest length; longer ones are cut there");
  return max;
}

MixtureLength read_mixture(Fields& f, std::string const& folder, int max) {
  MixtureLength mixture;
  f.custom("mixture", "list of maps with a weight and a shape", "", "lengths of several kinds, by weight",
           [&](Value const& v) {
             if (v.kind != ValueKind::list || v.items.empty() || v.items.size() > kMostComponents) {
               f.problem(v.mark, "mixture", "not a list of 1 to 64 components",
                         "write [{weight: 1, fixed: 100}, ...]");
               return;
             }
             for (std::size_t i = 0; i < v.items.size(); ++i) {
               Value const& item = v.items[i];
               std::string const path = f.path_of(fmt::format("mixture[{}]", i));
               if (item.kind != ValueKind::map) {
                 f.problem(item.mark, "mixture", "not a map", "write {weight: 1, fixed: 100}");
                 continue;
               }
               Fields part(f.reading(), &item, path, item.mark, "default");
               double weight = 1;
               part.number("weight", weight, kPositive, "relative weight");
               if (find(item, "mixture") != nullptr) part.forbid("mixture", "a mixture inside a mixture");
               int const own_max = read_max(part);
               if (check_one_shape(part, item.mark, Mixtures::nested)) {
                 std::optional<SimpleLength> const shape =
                     read_simple(part, folder, own_max > 0 ? own_max : max);
                 if (shape) {
                   mixture.weights.push_back(weight);
                   mixture.components.push_back(*shape);
                 }
               }
               part.finish();
             }
           });
  return mixture;
}

void read_map(Fields& f, Mark mark, Lengths& l, std::string const& folder) {
  int const max = read_max(f);
  l.max = max;
  bool const one = f.listing() || check_one_shape(f, mark, Mixtures::allowed);
  std::optional<SimpleLength> const shape = read_simple(f, folder, max);
  MixtureLength const mixture = read_mixture(f, folder, max);
  if (!one) return;
  if (shape) std::visit([&](auto const& s) { l.shape = s; }, *shape);
  if (!mixture.components.empty()) l.shape = mixture;
  auto const* fixed = std::get_if<FixedLength>(&l.shape);
  if (fixed != nullptr && max > 0 && fixed->tokens > max) {
    f.problem(mark, "fixed", fmt::format("{} is beyond max {}", fixed->tokens, max),
              "raise max or lower fixed");
  }
}

std::string words(FixedLength const& s) { return fmt::format("{} tokens", s.tokens); }
std::string words(LogNormalLength const& s) {
  return fmt::format("log-normal, mu {:.4g}, sigma {:.4g}", s.mu, s.sigma);
}
std::string words(EmpiricalLength const& s) { return fmt::format("{} measured lengths", s.tokens.size()); }
std::string words(MixtureLength const& s) { return fmt::format("mixture of {}", s.components.size()); }

}  // namespace

void read_lengths(Fields& f, std::string_view key, Lengths& l, std::string const& folder,
                  std::string_view meaning) {
  f.custom(key, "whole number of tokens, or a map", "", meaning, [&](Value const& v) {
    if (v.kind == ValueKind::scalar) {
      NumberText const n = parse_whole_number(v);
      if (!n.ok) {
        f.problem(v.mark, key, n.error, "write a number of tokens, or for example {fixed: 512}");
      } else if (!holds(kTokens, n.value)) {
        f.problem(v.mark, key, shown(v.text) + " is out of range", "write at least 1 token and at most 1e9");
      } else {
        l.shape = FixedLength{static_cast<int>(n.value)};
      }
    } else if (v.kind == ValueKind::map) {
      Fields inner(f.reading(), &v, f.path_of(key), v.mark, "default");
      read_map(inner, v.mark, l, folder);
      inner.finish();
    } else {
      f.problem(v.mark, key, "a list in place of lengths", "write {empirical: [...]}");
    }
  });
  if (f.listing()) {
    Fields inner(f.rows(), f.path_of(key));
    read_map(inner, {}, l, folder);
  } else if (f.has(key)) {
    f.origin(key, words_of(l));
  }
}

std::string words_of(Lengths const& l) {
  std::string out = std::visit([](auto const& s) { return words(s); }, l.shape);
  if (l.max > 0) out += fmt::format(", at most {}", l.max);
  return out;
}

}  // namespace rollcast
