#include "reports/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>

#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kBest = 5;

// "seed=1 train.parallel.tp=2".
std::string name_at(std::vector<VariedKey> const& grid, std::size_t point) {
  std::string name;
  auto const values = values_at(grid, point);
  for (std::size_t i = 0; i < grid.size(); ++i)
    name += fmt::format("{}{}={}", i == 0 ? "" : "  ", grid[i].key, values[i]);
  return printable(name);
}

std::string best(Sweep const& sweep, std::vector<Headline> const& headlines, std::string const& title,
                 double Headline::*figure) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < headlines.size(); ++i) {
    if (is_complete(headlines[i])) order.push_back(i);
  }
  if (order.empty()) return {};
  auto const shown = std::min(order.size(), kBest);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      double const left = headlines[a].*figure;
                      double const right = headlines[b].*figure;
                      return left > right || (!(right > left) && a < b);
                    });
  std::string out = fmt::format("\n{}\n", title);
  for (std::size_t i = 0; i < shown; ++i) {
    Headline const& h = headlines[order[i]];
    std::string const dollars = h.dollars_per_step ? fmt::format("  ${:<9.4g}", *h.dollars_per_step) : "";
    fmt::format_to(std::back_inserter(out), "  {:>9}  {:>9}  {:>12.5g}{}  {}\n",
                   h.samples_per_second > 0 ? format(Seconds(1 / h.samples_per_second)) : "-", format(h.step),
                   h.tokens_per_second_per_gpu, dollars, name_at(sweep.grid, order[i]));
  }
  return out;
}

}  // namespace

std::string sweep_text(Sweep const& sweep, SweepResult const& result) {
  struct Ended {
    std::size_t points = 0;
    std::size_t first = 0;
  };
  std::map<Outcome, Ended> outcomes;
  for (std::size_t i = 0; i < result.headlines.size(); ++i) {
    Ended& e = outcomes.try_emplace(result.headlines[i].outcome, Ended{0, i}).first->second;
    ++e.points;
  }
  std::string out = fmt::format("Sweep of {}: {} points, {} simulated now",
                                printable(std::filesystem::path(sweep.source.file).stem().string()),
                                result.headlines.size(), result.simulated);
  if (result.simulated < result.headlines.size()) out += ", the others found in the store";
  out += ".\n";
  for (auto const& [outcome, e] : outcomes) {
    fmt::format_to(std::back_inserter(out), "  {:>9}  {}", e.points, name_of(outcome));
    if (std::string const& reason = result.headlines[e.first].reason; !reason.empty())
      fmt::format_to(std::back_inserter(out), ": {} ({})", printable(reason), name_at(sweep.grid, e.first));
    out += '\n';
  }
  if (result.failed > 0) out += "Those that failed are no results; the same command tries them again.\n";
  out += best(sweep, result.headlines,
              "Least time per sample (time per sample, step, tokens/s/GPU, cost of a step)",
              &Headline::samples_per_second);
  out +=
      best(sweep, result.headlines, "Most tokens per second and GPU", &Headline::tokens_per_second_per_gpu);
  return out;
}

}  // namespace rollcast
