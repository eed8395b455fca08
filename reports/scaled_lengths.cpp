#include "reports/scaled_lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace rollcast {
namespace {

constexpr double kMostTokens = 1e9;

// max 0: no cut.
int scaled(int tokens, double factor, int max) {
  double const most = max > 0 ? max : kMostTokens;
  return static_cast<int>(std::clamp(std::round(tokens * factor), 1.0, most));
}

std::string shape_text(FixedLength const& s, double factor, int max) {
  return fmt::format("fixed: {}", scaled(s.tokens, factor, max));
}

std::string shape_text(LogNormalLength const& s, double factor, int) {
  return fmt::format("lognormal: {{mu: {}, sigma: {}}}", s.mu + std::log(factor), s.sigma);
}

std::string shape_text(EmpiricalLength const& s, double factor, int max) {
  std::string list;
  for (int t : s.tokens) list += (list.empty() ? "" : ", ") + fmt::format("{}", scaled(t, factor, max));
  return fmt::format("empirical: [{}]{}", list, s.in_order ? ", in_order: true" : "");
}

int own_max(SimpleLength const& s, int max) {
  auto const* lognormal = std::get_if<LogNormalLength>(&s);
  return lognormal != nullptr && lognormal->max > 0 ? lognormal->max : max;
}

std::string component_text(SimpleLength const& s, double factor, int max) {
  return std::visit([&](auto const& shape) { return shape_text(shape, factor, max); }, s);
}

std::string shape_text(MixtureLength const& m, double factor, int max) {
  std::string list;
  for (std::size_t i = 0; i < m.components.size(); ++i) {
    int const cut = own_max(m.components[i], max);
    list += fmt::format("{}{{weight: {}, {}{}}}", list.empty() ? "" : ", ", m.weights.at(i),
                        component_text(m.components[i], factor, cut),
                        cut > 0 ? fmt::format(", max: {}", cut) : "");
  }
  return fmt::format("mixture: [{}]", list);
}

}  // namespace

std::string scaled_lengths(Lengths const& l, double factor) {
  int max = l.max;
  if (auto const* lognormal = std::get_if<LogNormalLength>(&l.shape); lognormal != nullptr && max == 0)
    max = lognormal->max;
  std::string const shape = std::visit([&](auto const& s) { return shape_text(s, factor, max); }, l.shape);
  return fmt::format("{{{}{}}}", shape, max > 0 ? fmt::format(", max: {}", max) : "");
}

}  // namespace rollcast
