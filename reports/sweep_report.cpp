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

// Of points that serve: by requests in time where any asks for that, else by all.
std::string best_serving(Sweep const& sweep, std::vector<Headline> const& headlines) {
  std::vector<std::size_t> order;
  bool asked = false;
  for (std::size_t i = 0; i < headlines.size(); ++i) {
    if (!is_complete(headlines[i]) || !headlines[i].serving) continue;
    order.push_back(i);
    asked = asked || asks(headlines[i].serving->objective);
  }
  if (order.empty()) return {};
  ServingColumn const by = asked ? ServingColumn::goodput : ServingColumn::requests_per_second;
  auto const figure = [&](std::size_t i, ServingColumn c) { return (*headlines[i].serving)[c].value_or(0); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return figure(b, by) < figure(a, by); });
  std::string out =
      fmt::format("\nMost requests{} per second (in time, all, output tokens/s, p99 of the first token)\n",
                  asked ? " in time" : "");
  for (std::size_t i = 0; i < std::min(order.size(), kBest); ++i) {
    std::size_t const point = order[i];
    fmt::format_to(std::back_inserter(out), "  {:>9}  {:>9.4g}  {:>9.5g}  {:>9}  {}\n",
                   asked ? fmt::format("{:.4g}", figure(point, ServingColumn::goodput)) : "-",
                   figure(point, ServingColumn::requests_per_second),
                   figure(point, ServingColumn::output_tokens_per_second),
                   format(Seconds(figure(point, ServingColumn::ttft_p99))), name_at(sweep.grid, point));
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
  if (std::string const serving = best_serving(sweep, result.headlines); !serving.empty())
    return out + serving;
  out += best(sweep, result.headlines,
              "Least time per sample (time per sample, step, tokens/s/GPU, cost of a step)",
              &Headline::samples_per_second);
  out +=
      best(sweep, result.headlines, "Most tokens per second and GPU", &Headline::tokens_per_second_per_gpu);
  return out;
}

}  // namespace rollcast
