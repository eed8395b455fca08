#include "calibrate/bench_shapes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace rollcast {
namespace {

constexpr std::string_view kHeader = "m,n,k,pass,tensor";
constexpr std::int64_t kLargest = 2147483647;  // cuBLASLt's own limit
constexpr std::array kPasses = {GemmPass::forward, GemmPass::dgrad, GemmPass::wgrad};

std::int64_t whole(double v) { return std::max<std::int64_t>(1, std::llround(v)); }

GemmShape shape_of(Matmul const& m, std::int64_t tokens, GemmPass pass) {
  double const rows = static_cast<double>(tokens) * m.rows_per_token;
  std::int64_t const t = whole(rows / m.copies);
  std::int64_t const o = whole(m.n);
  std::int64_t const i = whole(m.k);
  switch (pass) {
    case GemmPass::forward:
      return {t, o, i, pass, m.tensor};
    case GemmPass::dgrad:
      return {t, i, o, pass, m.tensor};
    case GemmPass::wgrad:
      return {o, i, t, pass, m.tensor};
  }
  return {};
}

void add(std::vector<GemmShape>& list, GemmShape const& shape) {
  bool const known = std::any_of(list.begin(), list.end(), [&](GemmShape const& s) {
    return s.m == shape.m && s.n == shape.n && s.k == shape.k && s.pass == shape.pass;
  });
  if (!known) list.push_back(shape);
}

std::string_view trimmed(std::string_view text) {
  auto const blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t start = 0;;) {
    auto const comma = line.find(',', start);
    cells.push_back(trimmed(line.substr(start, comma - start)));
    if (comma == std::string_view::npos) return cells;
    start = comma + 1;
  }
}

std::optional<std::int64_t> dimension_of(std::string_view text) {
  std::int64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < 1 || value > kLargest) return std::nullopt;
  return value;
}

std::optional<GemmPass> pass_of(std::string_view text) {
  if (text.empty()) return GemmPass::forward;
  for (GemmPass const p : kPasses) {
    if (name_of(p) == text) return p;
  }
  return std::nullopt;
}

// What is wrong with a line, or its shape.
struct Line {
  GemmShape shape;
  std::string what;
  std::string remedy;
};

Line read_line(std::string_view text) {
  Line line;
  auto const cells = cells_of(text);
  if (cells.size() < 3 || cells.size() > 5) {
    line.what = "not three to five cells";
    line.remedy = "write m,n,k or " + std::string(kHeader);
    return line;
  }
  std::array<std::int64_t*, 3> const dimensions = {&line.shape.m, &line.shape.n, &line.shape.k};
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    auto const value = dimension_of(cells[i]);
    if (!value) {
      line.what = "\"" + shown(cells[i]) + "\" is no dimension";
      line.remedy = "write a whole number from 1 to " + std::to_string(kLargest);
      return line;
    }
    *dimensions[i] = *value;
  }
  auto const pass = pass_of(cells.size() > 3 ? cells[3] : "");
  if (!pass) {
    line.what = "\"" + shown(cells[3]) + "\" is no pass";
    line.remedy = "write forward, dgrad or wgrad";
    return line;
  }
  line.shape.pass = *pass;
  if (cells.size() > 4) line.shape.tensor = cells[4];
  return line;
}

}  // namespace

std::string_view name_of(GemmPass p) {
  switch (p) {
    case GemmPass::forward:
      return "forward";
    case GemmPass::dgrad:
      return "dgrad";
    case GemmPass::wgrad:
      return "wgrad";
  }
  return "";
}

std::vector<GemmShape> gemm_shapes(Architecture const& a, GemmWork const& work) {
  std::vector<Matmul> matmuls;
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    LayerShape const layer = layer_shape(a, kind.example, work.cut);
    matmuls.insert(matmuls.end(), layer.matmuls.begin(), layer.matmuls.end());
  }
  std::vector<Matmul> const head = lm_head_matmuls(a, work.cut.tp);
  matmuls.insert(matmuls.end(), head.begin(), head.end());

  std::vector<GemmShape> shapes;
  for (std::int64_t const tokens : work.tokens) {
    for (Matmul const& m : matmuls) {
      for (GemmPass const pass : kPasses) {
        if (pass == GemmPass::forward || work.gradients) add(shapes, shape_of(m, tokens, pass));
      }
    }
  }
  return shapes;
}

ShapesRead read_shapes(std::string_view text, std::string const& file) {
  ShapesRead read;
  int number = 0;
  while (!text.empty()) {
    auto const end = text.find('\n');
    std::string_view const whole_line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    std::string_view const content = trimmed(whole_line.substr(0, whole_line.find('#')));
    if (content.empty() || content == kHeader) continue;
    Line const line = read_line(content);
    if (line.what.empty()) {
      read.shapes.push_back(line.shape);
    } else {
      read.problems.push_back({file, number, 1, "", line.what, line.remedy, std::string(whole_line)});
    }
  }
  return read;
}

std::string shapes_text(std::vector<GemmShape> const& shapes) {
  std::string text = std::string(kHeader) + "\n";
  for (GemmShape const& s : shapes) {
    text += std::to_string(s.m) + "," + std::to_string(s.n) + "," + std::to_string(s.k) + "," +
            std::string(name_of(s.pass)) + "," + s.tensor + "\n";
  }
  return text;
}

}  // namespace rollcast
