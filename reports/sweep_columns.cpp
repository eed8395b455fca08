#include "reports/sweep_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <stdexcept>

#include "reports/json.hpp"

namespace rollcast {
namespace {

Cell number(double v) { return nine_digits(v); }
Cell number(std::optional<double> const& v) { return v ? number(*v) : Cell(); }
Cell whole(Bytes b) { return std::int64_t{std::llround(nine_digits(b.value))}; }

// Nothing where no step was completed.
template <class T>
Cell of_steps(Headline const& h, T const& v) {
  return h.steps > 0 ? number(v) : Cell();
}

PoolHeadline const* fullest(Headline const& h) {
  PoolHeadline const* found = nullptr;
  auto const share = [](PoolHeadline const& p) { return p.peak.value / p.capacity.value; };
  for (PoolHeadline const& p : h.pools) {
    if (p.peak.value > 0 && p.capacity.value > 0 && (found == nullptr || share(p) > share(*found)))
      found = &p;
  }
  return found;
}

// Over all GPUs.
Cell mean_of(Headline const& h, double PoolHeadline::*figure) {
  double sum = 0;
  double gpus = 0;
  for (PoolHeadline const& p : h.pools) {
    sum += p.gpus * (p.*figure);
    gpus += p.gpus;
  }
  return h.steps > 0 && gpus > 0 ? number(sum / gpus) : Cell();
}

template <class Figure>
Cell of_fullest(Headline const& h, Figure const& figure) {
  PoolHeadline const* const p = fullest(h);
  return p == nullptr ? Cell() : Cell(figure(*p));
}

void add_csv(std::string& out, Cell const& cell) {
  if (auto const* const text = std::get_if<std::string>(&cell)) {
    if (text->find_first_of(",\"\r\n") == std::string::npos) {
      out += *text;
      return;
    }
    out += '"';
    for (char const c : *text) {
      if (c == '"') out += '"';
      out += c;
    }
    out += '"';
  } else if (auto const* const real = std::get_if<double>(&cell)) {
    fmt::format_to(std::back_inserter(out), "{}", *real);
  } else if (auto const* const integer = std::get_if<std::int64_t>(&cell)) {
    fmt::format_to(std::back_inserter(out), "{}", *integer);
  }
}

}  // namespace

namespace {

std::vector<SweepColumn> all_columns() {
  using H = Headline const&;
  std::vector<SweepColumn> columns{
      {"outcome", [](H h) { return Cell(std::string(name_of(h.outcome))); }},
      {"reason", [](H h) { return h.reason.empty() ? Cell() : Cell(h.reason); }},
      {"gpus", [](H h) { return h.gpus > 0 ? Cell(h.gpus) : Cell(); }},
      {"steps", [](H h) { return Cell(std::int64_t{h.steps}); }},
      {"step_seconds", [](H h) { return of_steps(h, h.step.value); }},
      {"tokens_per_second_per_gpu", [](H h) { return of_steps(h, h.tokens_per_second_per_gpu); }},
      {"samples_per_second", [](H h) { return of_steps(h, h.samples_per_second); }},
      {"gpu_hours_per_step", [](H h) { return of_steps(h, h.gpu_hours_per_step); }},
      {"dollars_per_step", [](H h) { return of_steps(h, h.dollars_per_step); }},
      {"weight_sync_seconds", [](H h) { return of_steps(h, h.sync.value); }},
      {"busy_fraction", [](H h) { return mean_of(h, &PoolHeadline::busy_fraction); }},
      {"mfu", [](H h) { return mean_of(h, &PoolHeadline::mfu); }},
      {"mean_response_tokens", [](H h) { return of_steps(h, h.mean_response_tokens); }},
      {"mean_staleness", [](H h) { return of_steps(h, h.mean_staleness); }},
      {"preemptions", [](H h) { return h.steps > 0 ? Cell(h.preemptions) : Cell(); }},
      {"peak_memory_pool", [](H h) { return of_fullest(h, [](auto const& p) { return p.name; }); }},
      {"peak_memory_phase",
       [](H h) { return of_fullest(h, [](auto const& p) { return std::string(name_of(p.peak_phase)); }); }},
      {"peak_memory_bytes", [](H h) { return of_fullest(h, [](auto const& p) { return whole(p.peak); }); }},
      {"memory_capacity_bytes",
       [](H h) { return of_fullest(h, [](auto const& p) { return whole(p.capacity); }); }},
  };
  for (std::size_t i = 0; i < kServingColumns; ++i)
    columns.push_back({name_of(static_cast<ServingColumn>(i)),
                       [i](H h) { return h.serving ? number(h.serving->values[i]) : Cell(); }, true});
  return columns;
}

}  // namespace

std::vector<SweepColumn> const& sweep_columns() {
  static std::vector<SweepColumn> const columns = all_columns();
  return columns;
}

std::string csv_line(std::vector<Cell> const& cells) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    add_csv(out, cells[i]);
  }
  return out;
}

std::string sweep_csv(std::vector<VariedKey> const& grid, std::vector<Headline> const& headlines) {
  if (headlines.size() != points_of(grid)) throw std::logic_error("sweep_csv: not one headline a point");
  bool const serving = std::any_of(headlines.begin(), headlines.end(),
                                   [](Headline const& h) { return h.serving.has_value(); });
  auto const is_left_out = [&](SweepColumn const& c) { return c.of_serving && !serving; };
  std::vector<Cell> cells;
  for (VariedKey const& k : grid) cells.emplace_back(k.key);
  for (SweepColumn const& c : sweep_columns()) {
    if (!is_left_out(c)) cells.emplace_back(std::string(c.name));
  }
  std::string out = csv_line(cells) + '\n';
  for (std::size_t point = 0; point < headlines.size(); ++point) {
    cells.clear();
    for (std::string& value : values_at(grid, point)) cells.emplace_back(std::move(value));
    for (SweepColumn const& c : sweep_columns()) {
      if (!is_left_out(c)) cells.push_back(c.of(headlines[point]));
    }
    out += csv_line(cells) + '\n';
  }
  return out;
}

}  // namespace rollcast
