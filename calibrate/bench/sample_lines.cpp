#include "calibrate/bench/sample_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcast {
namespace {

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string cell(std::string const& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char const c : one_line(text)) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string header_lines(std::vector<std::pair<std::string, std::string>> const& header) {
  std::string text = "# rollcast samples 1\n";
  for (auto const& [key, value] : header) text += fmt::format("# {}: {}\n", key, one_line(value));
  return text + "operation,variant,dtype,shape,seconds,spread,gpu,version,fabric,source\n";
}

std::string row_line(Measured const& m) {
  std::string shape;
  for (double const v : m.shape) shape += fmt::format("{}{:.0f}", shape.empty() ? "" : "x", v);
  double const spread = m.time.relative();
  return fmt::format("{},{},{},{},{:.9g},{},,{},{},{}\n", m.operation, m.variant, m.dtype, shape,
                     m.time.median.value, spread > 0 ? fmt::format("{:.3g}", spread) : "", cell(m.version),
                     cell(m.fabric), cell(m.source));
}

std::string remark_line(std::string const& text) { return "# " + one_line(text) + "\n"; }

}  // namespace rollcast
