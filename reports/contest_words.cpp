#include "reports/contest_words.hpp"

#include <fmt/format.h>

namespace rollcast {
namespace {

std::string cannot_win(Contest const& c, std::size_t i) {
  ContenderFigures const& f = c.figures[i];
  std::string const& name = c.contenders[i].name;
  if (f.can_win(c.seeds.size())) return name + ": no request is in time";
  std::string out = fmt::format("{}: {}", name, name_of(f.outcome));
  if (f.completed > 0)
    out += fmt::format(" in {} of {} seeds", c.seeds.size() - static_cast<std::size_t>(f.completed),
                       c.seeds.size());
  return f.reason.empty() ? out : out + ", " + f.reason;
}

}  // namespace

std::string interval_text(PairedRatio const& r, std::size_t seeds) {
  if (!r.low) return "one seed, so without an interval";
  return fmt::format("{:#.3g} to {:#.3g} with 95 % confidence over {} paired seeds", *r.low, *r.high, seeds);
}

std::string others_text(Contest const& c) {
  std::string out;
  for (std::size_t i = 0; i < c.contenders.size(); ++i) {
    if (!is_ranked(c, i)) out += (out.empty() ? "" : "; ") + cannot_win(c, i);
  }
  return out;
}

}  // namespace rollcast
