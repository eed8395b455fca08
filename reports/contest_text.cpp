#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "reports/contest_report.hpp"
#include "reports/contest_rows.hpp"
#include "reports/contest_serving.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

constexpr int kWidth = 100;
constexpr int kLabel = 32;
constexpr std::size_t kCell = 22;
constexpr std::size_t kColumns = 3;
constexpr double kIdleShown = 0.01;

std::string letter(std::size_t i) {
  std::string const last(1, static_cast<char>('A' + i % 26));
  return i < 26 ? last : letter(i / 26 - 1) + last;
}

std::string told(std::string const& sentence) { return paragraph(printable(sentence), kWidth); }

using Row = ContestRow;

std::optional<std::size_t> pool_called(ContenderFigures const& f, std::string const& name) {
  for (std::size_t i = 0; i < f.pools.size(); ++i) {
    if (f.pools[i].name == name) return i;
  }
  return std::nullopt;
}

std::vector<std::string> pool_names(Contest const& c) {
  std::vector<std::string> out;
  for (ContenderFigures const& f : c.figures) {
    for (PoolHeadline const& p : f.pools) {
      if (std::find(out.begin(), out.end(), p.name) == out.end()) out.push_back(p.name);
    }
  }
  return out;
}

double idle_share(ContenderFigures const& f, std::size_t pool, std::string const& cause) {
  for (auto const& [name, share] : f.idle_by_cause[pool]) {
    if (name == cause) return share;
  }
  return 0;
}

// Causes that take a hundredth of the pool's time somewhere.
std::vector<std::string> idle_causes(Contest const& c, std::string const& pool) {
  std::vector<std::string> out;
  for (ContenderFigures const& f : c.figures) {
    auto const i = pool_called(f, pool);
    if (!i || f.step.steps == 0) continue;
    for (auto const& [cause, share] : f.idle_by_cause[*i]) {
      if (share >= kIdleShown && std::find(out.begin(), out.end(), cause) == out.end()) out.push_back(cause);
    }
  }
  return out;
}

// A row that needs completed steps.
Row of_steps(std::string label, std::function<std::string(ContenderFigures const&)> const& text) {
  return {std::move(label), [text](ContenderFigures const& f, std::size_t) {
            return f.step.steps > 0 ? text(f) : std::string();
          }};
}

std::vector<Row> time_rows(Contest const& c) {
  std::vector<Row> rows;
  rows.push_back(
      {"outcome", [](ContenderFigures const& f, std::size_t) { return std::string(name_of(f.outcome)); }});
  rows.push_back({"GPUs", [](ContenderFigures const& f, std::size_t) {
                    return f.gpus > 0 ? fmt::format("{}", f.gpus) : std::string();
                  }});
  rows.push_back({fmt::format("speed per {}, of the best", name_of(c.unit)),
                  [&c](ContenderFigures const&, std::size_t i) { return speed_text(c.speed_of_best[i]); }});
  rows.push_back(of_steps("step", [](ContenderFigures const& f) { return format(f.step.mean); }));
  rows.push_back(of_steps("  p10 to p90", [](ContenderFigures const& f) {
    return format(f.step.p10) + " to " + format(f.step.p90);
  }));
  rows.push_back(of_steps(
      "samples/s", [](ContenderFigures const& f) { return fmt::format("{:.4g}", f.samples_per_second); }));
  rows.push_back(of_steps("tokens/s/GPU", [](ContenderFigures const& f) {
    return fmt::format("{:.4g}",
                       f.tokens_per_second / static_cast<double>(std::max<std::int64_t>(1, f.gpus)));
  }));
  return rows;
}

std::vector<Row> cost_rows(Contest const& c) {
  std::vector<Row> rows;
  auto const both = [](ContenderFigures const& f, double times) {
    std::string out = fmt::format("{:.3g} h", f.gpu_hours_per_step * times);
    return f.dollars_per_step ? out + ", " + money_text(*f.dollars_per_step * times) : out;
  };
  rows.push_back(
      of_steps("GPU-hours and cost of a step", [both](ContenderFigures const& f) { return both(f, 1); }));
  rows.push_back(of_steps("  of 1,000,000 tokens", [both](ContenderFigures const& f) {
    return f.tokens_per_step > 0 ? both(f, 1e6 / f.tokens_per_step) : std::string();
  }));
  if (!c.run_steps) return rows;
  auto const steps = static_cast<double>(*c.run_steps);
  rows.push_back(of_steps(fmt::format("  of {} steps", *c.run_steps),
                          [both, steps](ContenderFigures const& f) { return both(f, steps); }));
  rows.push_back(of_steps(fmt::format("days of {} steps", *c.run_steps), [steps](ContenderFigures const& f) {
    return fmt::format("{:.3g}", f.step.mean.value * steps / 86'400);
  }));
  return rows;
}

void add_pool_rows(Contest const& c, std::string const& pool, std::vector<Row>& rows) {
  auto const row = [&](std::string const& label,
                       std::function<std::string(ContenderFigures const&, std::size_t)> const& text) {
    rows.push_back({label, [pool, text](ContenderFigures const& f, std::size_t) {
                      auto const i = pool_called(f, pool);
                      return i ? text(f, *i) : std::string();
                    }});
  };
  auto const share = [](ContenderFigures const& f, double v) {
    return f.step.steps > 0 ? percent(v) : std::string();
  };
  row(printable(pool), [](ContenderFigures const& f, std::size_t i) {
    return fmt::format("{} x {}", f.pools[i].gpus, printable(f.pool_gpus[i]));
  });
  row("  busy",
      [share](ContenderFigures const& f, std::size_t i) { return share(f, f.pools[i].busy_fraction); });
  for (std::string const& cause : idle_causes(c, pool))
    row("  idle: " + cause, [share, cause](ContenderFigures const& f, std::size_t i) {
      return share(f, idle_share(f, i, cause));
    });
  row("  memory peak of a GPU", [](ContenderFigures const& f, std::size_t i) {
    PoolHeadline const& p = f.pools[i];
    return p.peak.value > 0 ? fmt::format("{} of {}", format(p.peak), format(p.capacity)) : std::string();
  });
  row("  margin to out-of-memory", [](ContenderFigures const& f, std::size_t i) {
    PoolHeadline const& p = f.pools[i];
    if (!(p.peak.value > 0)) return std::string();
    if (p.capacity < p.peak) return "none: " + format(p.peak - p.capacity) + " over";
    return fmt::format("{}, {}", format(p.capacity - p.peak), percent(1 - p.peak / p.capacity));
  });
}

std::vector<Row> other_rows() {
  std::vector<Row> rows;
  rows.push_back(of_steps("weight sync", [](ContenderFigures const& f) {
    return f.sync.value > 0 ? format(f.sync) : std::string("none");
  }));
  rows.push_back(of_steps("  that the step waits for", [](ContenderFigures const& f) {
    return f.sync.value > 0 ? format(f.exposed_sync) : std::string();
  }));
  rows.push_back(of_steps("staleness, weight updates", [](ContenderFigures const& f) {
    return f.mean_staleness ? fmt::format("{:.3g}", *f.mean_staleness) : std::string();
  }));
  rows.push_back(of_steps("preemptions a step", [](ContenderFigures const& f) {
    return fmt::format("{:.3g}", f.preemptions_per_step);
  }));
  rows.push_back({"longest wait with a timer", [](ContenderFigures const& f, std::size_t) {
                    return f.collective_wait ? fmt::format("{} of {}", format(f.collective_wait->longest),
                                                           format(f.collective_wait->timeout))
                                             : std::string();
                  }});
  return rows;
}

std::string table(Contest const& c) {
  bool const requests = serves(c.unit);
  std::vector<Row> rows = requests ? serving_rows(c) : time_rows(c);
  auto const add = [&](std::vector<Row> more) {
    for (Row& r : more) rows.push_back(std::move(r));
  };
  if (!requests) add(cost_rows(c));
  for (std::string const& pool : pool_names(c)) add_pool_rows(c, pool, rows);
  if (!requests) add(other_rows());
  std::string out;
  for (std::size_t first = 0; first < c.figures.size(); first += kColumns) {
    std::size_t const last = std::min(first + kColumns, c.figures.size());
    std::size_t width = kCell;
    for (Row const& r : rows) {
      for (std::size_t i = first; i < last; ++i) width = std::max(width, r.cell(c.figures[i], i).size() + 2);
    }
    std::string head(kLabel, ' ');
    for (std::size_t i = first; i < last; ++i) head += fmt::format("{:>{}}", letter(i), width);
    out += "\n" + table_line(head);
    for (Row const& r : rows) {
      std::string line = fmt::format("{:<{}}", r.label, kLabel);
      bool any = false;
      for (std::size_t i = first; i < last; ++i) {
        std::string const cell = r.cell(c.figures[i], i);
        any = any || !cell.empty();
        line += fmt::format("{:>{}}", cell.empty() ? "-" : cell, width);
      }
      if (any) out += table_line(line);
    }
  }
  return out;
}

}  // namespace

std::string money_text(double dollars) {
  return dollars < 100 ? fmt::format("{:.3g} $", dollars) : fmt::format("{:.0f} $", dollars);
}

std::string speed_text(std::optional<PairedRatio> const& r) {
  if (!r) return {};
  if (!r->low || !(*r->low < *r->high)) return fmt::format("{:.3g}", r->ratio);
  return fmt::format("{:.3g} ({:#.3g} to {:#.3g})", r->ratio, *r->low, *r->high);
}

std::string contest_text(Contest const& c) {
  std::string out = told(verdict(c));
  if (std::string const drawn = drawn_verdict(c); !drawn.empty()) out += told(drawn);
  if (std::string const cost = cost_verdict(c); !cost.empty()) out += told(cost);
  for (std::size_t i = 0; i < c.warnings.size(); ++i) out += (i == 0 ? "\n" : "") + told(c.warnings[i]);
  out += "\n";
  for (std::size_t i = 0; i < c.contenders.size(); ++i) {
    std::string line = fmt::format("{}: {}", letter(i), printable(c.contenders[i].name));
    if (!c.figures[i].reason.empty())
      line += fmt::format(" ({}: {})", name_of(c.figures[i].outcome), c.figures[i].reason);
    out += told(line);
  }
  out += table(c) + "\n";
  std::string const seeds = fmt::format("{} seed{} each", c.seeds.size(), c.seeds.size() == 1 ? "" : "s");
  return out +
         (serves(c.unit)
              ? seeds + ". An interval tells of the random requests, not of the error of the prices.\n"
              : fmt::format("{} step{} of {}. An interval tells of the random lengths, not of the error "
                            "of the prices.\n",
                            c.steps, c.steps == 1 ? "" : "s", seeds));
}

}  // namespace rollcast
