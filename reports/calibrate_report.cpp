#include "reports/calibrate_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/json.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr std::size_t kMostExposed = 10;

std::string shape_text(Sample const& s) {
  std::string out;
  std::vector<std::string> const names = dimensions_of(s.operation);
  for (std::size_t i = 0; i < s.shape.size() && i < names.size(); ++i) {
    out += fmt::format("{}{} {}", i == 0 ? "" : ", ", names[i], s.shape[i]);
  }
  return out;
}

std::string point_text(Sample const& s) {
  return fmt::format("{}{}{} ({})", s.variant.empty() ? "" : printable(s.variant) + ": ", shape_text(s),
                     s.fabric.empty() ? "" : ", " + printable(s.fabric), printable(s.source));
}

std::string operation_text(Check const& c) {
  if (c.range != TokenRange::all) return fmt::format("{} {}", c.operation, name_of(c.range));
  return c.nodes > 1 ? fmt::format("{} on {} nodes", c.operation, c.nodes) : c.operation;
}

std::string signed_percent(double v) { return fmt::format("{:+.1f} %", 100 * v); }

Json shape_json(Sample const& s) {
  Json shape = Json::object();
  std::vector<std::string> const names = dimensions_of(s.operation);
  for (std::size_t i = 0; i < s.shape.size() && i < names.size(); ++i)
    shape[names[i]] = nine_digits(s.shape[i]);
  return shape;
}

Json sample_json(Sample const& s) {
  Json j = {{"shape", shape_json(s)}, {"variant", s.variant}, {"source", s.source}};
  if (!s.fabric.empty()) j["fabric"] = s.fabric;
  j["measured_seconds"] = nine_digits(s.seconds.value);
  return j;
}

Json check_of(Check const& c) {
  Json worst = Json::array();
  for (WorstRow const& w : c.worst) {
    Json j = sample_json(w.sample);
    j["price_seconds"] = nine_digits(w.price.value);
    j["error"] = nine_digits(w.error);
    worst.push_back(std::move(j));
  }
  bool const none = c.rows == 0;
  return {{"gpu", c.gpu},
          {"operation", c.operation},
          {"dtype", c.dtype},
          {"version", c.version},
          {"nodes", c.nodes > 0 ? Json(c.nodes) : Json(nullptr)},
          {"split", name_of(c.split)},
          {"range", c.range == TokenRange::all ? Json(nullptr) : Json(name_of(c.range))},
          {"rows", c.rows},
          {"median", none ? Json(nullptr) : Json(nine_digits(c.median))},
          {"p90", none ? Json(nullptr) : Json(nine_digits(c.p90))},
          {"bias", none ? Json(nullptr) : Json(nine_digits(c.bias))},
          {"unpriced", c.unpriced},
          {"worst", std::move(worst)}};
}

}  // namespace

std::string import_summary(ImportResult const& r) {
  struct Tally {
    int files = 0;
    std::size_t samples = 0;
  };
  std::map<std::string, Tally> kinds;
  for (ImportedFile const& f : r.files) {
    Tally& t = kinds[f.kind];
    ++t.files;
    t.samples += f.samples;
  }
  std::string out;
  for (auto const& [kind, t] : kinds)
    fmt::format_to(std::back_inserter(out), "{:>8} points  {:>3} {}  {}\n", t.samples, t.files,
                   t.files == 1 ? "file " : "files", kind);
  fmt::format_to(std::back_inserter(out), "{:>8} points in all\n", r.imported.samples.size());
  for (Skipped const& s : r.imported.skipped)
    fmt::format_to(std::back_inserter(out), "skipped {} {} of {}: {}\n", s.rows, s.rows == 1 ? "row" : "rows",
                   printable(s.file), printable(s.why));
  return out;
}

std::string check_text(CheckResult const& r, bool worst) {
  std::string out = fmt::format("{:<15} {:<28} {:<9} {:<16} {:<13} {:>7} {:>8} {:>8} {:>8}\n", "gpu",
                                "operation", "dtype", "software", "split", "rows", "median", "p90", "bias");
  auto const at = std::back_inserter(out);
  for (Check const& c : r.checks) {
    std::string const head =
        fmt::format("{:<15} {:<28} {:<9} {:<16} {:<13}", printable(c.gpu), operation_text(c),
                    printable(c.dtype), printable(c.version), name_of(c.split));
    if (c.rows == 0) {
      fmt::format_to(at, "{} {:>7} no price ({} rows)\n", head, 0, c.unpriced);
      continue;
    }
    fmt::format_to(at, "{} {:>7} {:>8} {:>8} {:>8}{}\n", head, c.rows, percent(c.median), percent(c.p90),
                   signed_percent(c.bias),
                   c.unpriced > 0 ? fmt::format("  {} without a price", c.unpriced) : "");
    if (!worst) continue;
    for (WorstRow const& w : c.worst)
      fmt::format_to(at, "    {:>8}  measured {}, price {}: {}\n", signed_percent(w.error),
                     format(w.sample.seconds), format(w.price), point_text(w.sample));
  }
  for (std::size_t i = 0; i < std::min(kMostExposed, r.exposed.size()); ++i)
    fmt::format_to(at, "failed: the profile was fitted on a row that is held out: {} {}\n",
                   r.exposed[i].operation, point_text(r.exposed[i]));
  if (r.exposed.size() > kMostExposed)
    fmt::format_to(at, "failed: and on {} more such rows\n", r.exposed.size() - kMostExposed);
  for (std::string const& gpu : r.unknown_gpus)
    fmt::format_to(at, "no profile of {} was checked\n", printable(gpu));
  return out;
}

std::string unused_text(std::vector<UnusedRows> const& unused) {
  std::string out;
  for (UnusedRows const& u : unused)
    fmt::format_to(std::back_inserter(out), "not used: {} {} of {}\n", u.rows, u.rows == 1 ? "row" : "rows",
                   printable(u.why));
  return out;
}

bool has_priced_rows(CheckResult const& r) {
  return std::any_of(r.checks.begin(), r.checks.end(), [](Check const& c) { return c.rows > 0; });
}

std::string check_json(CheckResult const& r) {
  Json checks = Json::array(), exposed = Json::array();
  for (Check const& c : r.checks) checks.push_back(check_of(c));
  for (Sample const& s : r.exposed) {
    Json j = sample_json(s);
    j["gpu"] = s.gpu;
    j["operation"] = s.operation;
    exposed.push_back(std::move(j));
  }
  Json const all = {{"schema", kSchema},
                    {"passed", r.exposed.empty() && has_priced_rows(r)},
                    {"checks", std::move(checks)},
                    {"exposed", std::move(exposed)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rollcast
