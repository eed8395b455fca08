#include "calibrate/sample_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <system_error>

#include "calibrate/import/gpu_names.hpp"
#include "calibrate/import/table.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kMark = "# rollcast samples 1";

std::string_view trimmed(std::string_view s) {
  auto const first = s.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

// A header value is one line, whatever it was made from.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

std::string cell(std::string const& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char const c : one_line(text)) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

// Empty when it is not `count` finite numbers of at least 0 joined by x.
std::vector<double> shape_of(std::string_view text, std::size_t count) {
  std::vector<double> shape;
  char const* at = text.data();
  char const* const end = at + text.size();
  while (true) {
    double value = 0;
    auto const [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || !std::isfinite(value) || value < 0) return {};
    shape.push_back(value);
    if (next == end) break;
    if (*next != 'x') return {};
    at = next + 1;
  }
  return shape.size() == count ? shape : std::vector<double>{};
}

std::string joined(std::vector<std::string> const& words) {
  std::string out;
  for (std::string const& w : words) out += (out.empty() ? "" : "x") + w;
  return out;
}

std::string fabric_remedy(std::string const& word) {
  std::vector<std::string_view> names;
  for (Fabric const& f : builtin_catalog().fabrics) names.push_back(f.name);
  std::string_view const near = nearest(word, names);
  return near.empty() ? "write one of " + one_of(names) : fmt::format("did you mean '{}'?", near);
}

}  // namespace

std::string sample_text(SampleFile const& file) {
  std::string out = std::string(kMark) + "\n";
  for (auto const& [key, value] : file.header) out += "# " + one_line(key) + ": " + one_line(value) + "\n";
  out += "operation,variant,dtype,shape,seconds,spread,gpu,version,fabric,source\n";
  for (Sample const& s : file.samples) {
    std::string shape;
    for (double const v : s.shape) shape += (shape.empty() ? "" : "x") + fmt::format("{}", v);
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{}\n", cell(s.operation),
                   cell(s.variant), cell(s.dtype), shape, s.seconds.value,
                   s.spread > 0 ? fmt::format("{}", s.spread) : "", cell(s.gpu), cell(s.version),
                   cell(s.fabric), cell(s.source));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> sample_header(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> header;
  LineReader lines(text);
  while (lines.next() && lines.line().starts_with('#')) {
    std::string_view const line = lines.line().substr(1);
    auto const colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    header.emplace_back(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return header;
}

bool is_sample_file(SourceText const& source) {
  LineReader lines(source.text.substr(0, 256));
  return lines.next() && trimmed(lines.line()) == kMark;
}

void read_sample_file(SourceText const& source, Imported& out) {
  std::string gpu = source.hints.gpu, versions;
  for (auto const& [key, value] : sample_header(source.text)) {
    if (key == "gpu") gpu = value;
    if (key == "versions") versions = value;
  }
  std::vector<std::string> const columns = table_columns(source.text);
  for (std::string_view const c : {"operation", "dtype", "shape", "seconds"}) {
    if (has_columns(columns, {c})) continue;
    note(out, source, 0, c, "a samples file without this column",
         "its header row names operation, dtype, shape, seconds and more");
    return;
  }
  TableReader rows(source, out);
  while (rows.next()) {
    Sample s;
    s.operation = rows.text("operation");
    std::vector<std::string> const dimensions = dimensions_of(s.operation);
    if (dimensions.empty()) {
      std::vector<std::string_view> const known(operations().begin(), operations().end());
      rows.problem("operation", fmt::format("'{}' is no operation", shown(s.operation)),
                   "write one of " + one_of(known));
      continue;
    }
    s.shape = shape_of(rows.text("shape"), dimensions.size());
    if (s.shape.empty()) {
      rows.problem("shape", fmt::format("'{}' is no shape of {}", shown(rows.text("shape")), s.operation),
                   "write " + joined(dimensions) + " as numbers");
      continue;
    }
    if (std::string const problem = shape_problem(s); !problem.empty()) {
      rows.problem("shape", problem, "correct or remove the row");
      continue;
    }
    s.seconds = Seconds(rows.positive("seconds"));
    if (!rows.text("spread").empty()) s.spread = rows.positive("spread");
    if (!rows.good()) continue;
    std::string const& named = rows.text("gpu").empty() ? gpu : rows.text("gpu");
    s.gpu = gpu_named_in(named);
    if (s.gpu.empty()) {
      rows.problem("gpu", fmt::format("'{}' is no GPU of the catalog", shown(named)),
                   "'rollcast catalog list gpus' shows the names");
      continue;
    }
    s.variant = rows.text("variant");
    s.dtype = rows.text("dtype");
    s.version = rows.text("version").empty() ? versions : rows.text("version");
    s.fabric = rows.text("fabric");
    if (s.fabric.empty() && is_collective(s.operation) && dimension(s, "nodes") > 1)
      s.fabric = source.hints.fabric;
    if (!s.fabric.empty() && find_fabric(builtin_catalog(), s.fabric) == nullptr) {
      rows.problem("fabric", fmt::format("'{}' is no fabric of the catalog", shown(s.fabric)),
                   fabric_remedy(s.fabric));
      continue;
    }
    s.source = rows.text("source").empty() ? source.name : rows.text("source");
    out.samples.push_back(std::move(s));
  }
}

}  // namespace rollcast
