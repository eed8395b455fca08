#include "reports/ratio_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "reports/ratio_verdict.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

std::string dollars_text(RatioPoint const& p) {
  return p.dollars_per_step ? fmt::format("{:.4g}", *p.dollars_per_step) : std::string("-");
}

std::string staleness_text(RatioPoint const& p) {
  return p.mean_staleness ? fmt::format("{:.2f}", *p.mean_staleness) : std::string("-");
}

std::string bottleneck_text(RatioPoint const& p) {
  if (!p.bottleneck) return "";
  if (p.bottleneck->side == RatioSide::rollout) return "generation";
  return p.bottleneck->limit == RatioLimit::gpus ? "trainer" : "trainer (bound)";
}

constexpr std::string_view kHead =
    "rollout  train      step   work gen.  work train  samples/s  GPU h/step    $/step  busy r  busy t  "
    "stale";

std::string row(RatioPoint const& p) {
  return fmt::format("  {:>7}{:>7}{:>10}{:>12}{:>12}{:>11.4g}{:>12.4g}{:>10}{:>8}{:>8}{:>7}",
                     p.size.rollout_gpus, p.size.train_gpus, format(p.step), format(p.generate),
                     format(p.train), p.samples_per_second, p.gpu_hours_per_step, dollars_text(p),
                     percent(p.busy_rollout), percent(p.busy_train), staleness_text(p));
}

std::string table(std::string const& title, std::vector<RatioPoint> const& points, RatioReport const& r) {
  if (points.empty()) return {};
  std::string out = fmt::format("\n{}\n  {}  bottleneck\n", title, kHead);
  auto const fast = fastest(points);
  auto const cheap = cheapest(points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    RatioPoint const& p = points[i];
    std::string marks;
    if (r.base && r.base_from == RatioBase::file && p.size == r.base->size) marks += " file's";
    if (fast && i == *fast) marks += " fastest";
    if (cheap && i == *cheap) marks += " cheapest";
    out += table_line(fmt::format("{}  {:<16}{}", row(p), bottleneck_text(p), marks));
  }
  return out;
}

std::string staleness_table(RatioReport const& r) {
  if (r.staleness.size() < 2) return {};
  std::string out = fmt::format(
      "\nBound of the staleness, at {} rollout : {} train\n    bound      step  mean staleness  busy r  busy "
      "t\n",
      r.base->size.rollout_gpus, r.base->size.train_gpus);
  for (RatioPoint const& p : r.staleness)
    out += table_line(fmt::format("  {:>7}{:>10}{:>16}{:>8}{:>8}", *p.max_staleness, format(p.step),
                                  staleness_text(p), percent(p.busy_rollout), percent(p.busy_train)));
  return out;
}

std::string lengths_table(RatioReport const& r) {
  if (r.lengths.size() < 2) return {};
  std::string out =
      "\nLonger and shorter responses, same splits\n   factor  mean tokens  balance at  fastest split      "
      "step\n";
  for (RatioLengths const& l : r.lengths) {
    auto const fast = fastest(l.split);
    if (!fast) continue;
    RatioPoint const& p = l.split[*fast];
    auto const at = balance_of(r, l);
    out += fmt::format("  {:>7}{:>13.0f}{:>12}{:>15}{:>10}\n", l.factor, p.mean_response_tokens,
                       at ? fmt::format("{:.1f}", *at) : std::string("none"),
                       fmt::format("{} : {}", p.size.rollout_gpus, p.size.train_gpus), format(p.step));
  }
  return out;
}

// The reason without its numbers: what fails alike.
std::string kind_of(std::string reason) {
  std::erase_if(reason, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
  return reason;
}

constexpr std::size_t kShownSizes = 8;

std::string infeasible_text(RatioReport const& r, int width) {
  struct Group {
    std::string reason;  // of the first
    std::vector<std::string> sizes;
  };
  std::vector<Group> groups;
  for (RatioInfeasible const& i : r.infeasible) {
    std::string size = fmt::format("{} : {}", i.size.rollout_gpus, i.size.train_gpus);
    if (i.length_factor < 1 || i.length_factor > 1) size += fmt::format(" x {}", i.length_factor);
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](Group const& g) { return kind_of(g.reason) == kind_of(i.reason); });
    if (found == groups.end()) found = groups.insert(groups.end(), {i.reason, {}});
    if (std::find(found->sizes.begin(), found->sizes.end(), size) == found->sizes.end())
      found->sizes.push_back(std::move(size));
  }
  if (groups.empty()) return {};
  std::string out = "\nCannot be (rollout : train)\n";
  for (Group& g : groups) {
    auto const n = g.sizes.size();
    if (n > kShownSizes) {
      g.sizes.resize(kShownSizes);
      g.sizes.back() += fmt::format(" and {} more", n - kShownSizes);
    }
    out += "  " + wrapped(g.sizes, ", ", 2, width);
    out += "    " + wrapped(words_of((n > 1 ? "the first: " : "") + printable(g.reason)), " ", 4, width);
  }
  return out;
}

std::string colocated_text(RatioReport const& r) {
  if (!r.colocated.point) return {};
  RatioPoint const& p = *r.colocated.point;
  std::string out = fmt::format(
      "\nColocated on the same {} GPUs\n  {} a step: generate {}, train {}, switch {}; {:.4g} samples/s, "
      "{:.4g} GPU hours a step",
      r.total, format(p.step), format(p.generate), format(p.train), format(p.sync), p.samples_per_second,
      p.gpu_hours_per_step);
  if (p.dollars_per_step) out += fmt::format(", $ {}", dollars_text(p));
  out += "\n  made by";
  for (std::string const& s : r.colocated.sets) out += " --set '" + printable(s) + "'";
  return out + "\n";
}

}  // namespace

std::string ratio_text(RatioReport const& r, int width) {
  std::string out;
  for (std::string const& s : ratio_verdict(r)) out += wrapped(words_of(printable(s)), " ", 0, width);
  out += fmt::format(
      "\nScenario {}, {} of {} steps each; {} on {} {}, {} on {} {}, {}.\n", printable(r.scenario),
      r.seeds.size() == 1 ? std::string("one forecast") : fmt::format("{} forecasts", r.seeds.size()),
      r.steps, printable(r.pools.rollout), printable(r.rollout_node), printable(r.rollout_gpu),
      printable(r.pools.train), printable(r.train_node), printable(r.train_gpu), name_of(r.schedule));
  out += table(fmt::format("Splits of {} GPUs", r.total), r.split, r);
  if (r.base) {
    out +=
        table(fmt::format("More rollout GPUs beside {} that train", r.base->size.train_gpus), r.rollout, r);
    out += table(fmt::format("More trainer GPUs beside {} that generate", r.base->size.rollout_gpus), r.train,
                 r);
    out += table("All of it larger or smaller", r.totals, r);
    out += staleness_table(r);
  }
  out += colocated_text(r) + lengths_table(r) + infeasible_text(r, width);
  return out;
}

}  // namespace rollcast
