#include "reports/csv.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <tuple>

#include "reports/json.hpp"
#include "reports/phase_windows.hpp"

namespace rollcast {
namespace {

struct Row {
  Seconds seconds;
  Seconds exposed;
};

// "measured", "derived from h100-sxm", "derived from h100-sxm; own: collectives + pcie".
std::string prices_of(PriceNote const& n) {
  if (n.gpu.empty()) return {};
  std::string const basis(name_of(n.basis));
  std::string out = n.basis == PriceBasis::derived ? basis + " from " + n.from : basis;
  if (n.own.profile.empty()) return out;
  out += "; own:";
  for (std::string const& o : n.own.operations) out += (out.ends_with(':') ? " " : " + ") + o;
  return n.own.operations.empty() ? out + " nothing" : out;
}

}  // namespace

std::string csv_field(std::string const& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string csv_text(EventLog const& log) {
  auto const windows = in_order(log.phases);
  auto const exposed = exposed_times(windows);
  // step, start of the first window, order of that window: the windows of a phase add to one row.
  using Key = std::tuple<int, double, std::size_t>;
  std::map<std::tuple<int, int, Phase>, Key> first;
  std::map<Key, Row> rows;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    PhaseWindow const& w = windows[i];
    auto const [key, added] = first.try_emplace({w.step, w.pool, w.phase}, Key{w.step, w.start.value, i});
    Row& row = rows[key->second];
    row.seconds += w.end - w.start;
    row.exposed += exposed[i];
  }
  std::string out =
      "scenario,seed,step,step_seconds,pool,phase,start_seconds,seconds,exposed_seconds,prices\n";
  for (auto const& [key, row] : rows) {
    PhaseWindow const& w = windows[std::get<2>(key)];
    auto const step = static_cast<std::size_t>(w.step);
    std::string const length =
        step < log.steps.size()
            ? fmt::format("{}", nine_digits((log.steps[step].end - log.steps[step].start).value))
            : "";
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{}\n", csv_field(log.scenario),
                   log.seed, w.step, length, csv_field(log.pools[static_cast<std::size_t>(w.pool)].name),
                   name_of(w.phase), nine_digits(w.start.value), nine_digits(row.seconds.value),
                   nine_digits(row.exposed.value),
                   csv_field(prices_of(log.pools[static_cast<std::size_t>(w.pool)].prices)));
  }
  return out;
}

}  // namespace rollcast
