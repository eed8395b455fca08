#include "models/gemm_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/random.hpp"
#include "models/table_text.hpp"

namespace rollcast {

std::string_view name_of(GemmKind kind) {
  switch (kind) {
    case GemmKind::bf16:
      return "bf16";
    case GemmKind::fp8:
      return "fp8";
    case GemmKind::fp8_block:
      return "fp8_block";
  }
  throw std::logic_error("no such GemmKind");
}

std::optional<GemmKind> gemm_kind_of(std::string_view dtype) {
  for (GemmKind const kind : {GemmKind::bf16, GemmKind::fp8, GemmKind::fp8_block}) {
    if (name_of(kind) == dtype) return kind;
  }
  return std::nullopt;
}

namespace {

struct Limits {
  Seconds flops;
  Seconds bytes;
};

Limits limits_of(Gpu const& gpu, GemmKind kind, double m, double n, double k) {
  double const element = kind == GemmKind::bf16 ? 2 : 1;
  return {Flops(2 * m * n * k) / matrix_peak(gpu, kind),
          bytes(element * (m * k + n * k) + 2 * m * n) / gpu.memory_bandwidth};
}

constexpr double kRidge = 1.5;
double cubed(double v) { return v * v * v; }

}  // namespace

FlopsPerSecond matrix_peak(Gpu const& gpu, GemmKind kind) {
  return kind != GemmKind::bf16 && gpu.fp8.value > 0 ? gpu.fp8 : gpu.bf16;
}

Seconds gemm_roofline(Gpu const& gpu, GemmKind kind, double m, double n, double k) {
  Limits const l = limits_of(gpu, kind, m, n, k);
  return max(l.flops, l.bytes);
}

Seconds rounded_ridge(Seconds flops, Seconds bytes) {
  Seconds const larger = max(flops, bytes);
  double const sum = cubed(flops / larger) + cubed(bytes / larger);
  return larger * portable_exp(portable_log(sum) / 3);
}

Seconds gemm_blend(Gpu const& gpu, GemmKind kind, double m, double n, double k) {
  Limits const l = limits_of(gpu, kind, m, n, k);
  return rounded_ridge(l.flops * kRidge, l.bytes);
}

std::string to_text(GemmTable const& t) {
  LogScale const scale = scale_of(t.log_ratio);
  std::string text =
      fmt::format("gemm {}\nm {}\nn {}\nk {}\n", name_of(t.kind), join(t.m), join(t.n), join(t.k));
  text += fmt::format("below {}\n", join({t.below.begin(), t.below.end()}));
  text += fmt::format("above {}\n", join({t.above.begin(), t.above.end()}));
  text += fmt::format("log {}\n", join({scale.offset, scale.step}));
  for (std::size_t i = 0; i < t.n.size(); ++i) {
    for (std::size_t j = 0; j < t.k.size(); ++j) {
      auto const first = t.log_ratio.begin() + static_cast<std::ptrdiff_t>((i * t.k.size() + j) * t.m.size());
      std::vector<double> const row(first, first + static_cast<std::ptrdiff_t>(t.m.size()));
      if (std::all_of(row.begin(), row.end(), [](double v) { return std::isnan(v); })) continue;
      text += fmt::format("{} {}\n", join({t.n[i], t.k[j]}), encode(row, scale));
    }
  }
  return text;
}

namespace {

std::size_t index_of(std::vector<double> const& knots, double v) {
  auto const it = std::lower_bound(knots.begin(), knots.end(), v);
  return it == knots.end() || *it > v ? knots.size() : static_cast<std::size_t>(it - knots.begin());
}

constexpr std::size_t kHeaderLines = 7;

std::string read_header(std::vector<std::string_view> const& lines, GemmTable& t, LogScale& scale) {
  std::array<std::string_view, kHeaderLines> const names = {"gemm", "m", "n", "k", "below", "above", "log"};
  if (lines.size() < kHeaderLines)
    return "a gemm table starts with the lines gemm, m, n, k, below, above, log";
  std::array<std::vector<double>, kHeaderLines> numbers;
  for (std::size_t i = 0; i < kHeaderLines; ++i) {
    std::vector<std::string_view> const words = split_words(lines[i]);
    if (words.size() < 2 || words[0] != names[i]) {
      return fmt::format("line {} of a gemm table starts with \"{}\"", i + 1, names[i]);
    }
    if (i == 0) {
      std::optional<GemmKind> const kind = gemm_kind_of(words[1]);
      if (!kind) return fmt::format("\"{}\" is no kind of gemm; bf16, fp8 and fp8_block are", words[1]);
      t.kind = *kind;
    } else if (!read_numbers(words, 1, numbers[i])) {
      return fmt::format("line {} of a gemm table holds numbers after \"{}\"", i + 1, names[i]);
    }
  }
  t.m = numbers[1];
  t.n = numbers[2];
  t.k = numbers[3];
  if (!ascends(t.m) || !ascends(t.n) || !ascends(t.k)) return "knots m, n, k ascend from above 0";
  if (numbers[4].size() != 3 || numbers[5].size() != 3) return "below and above have three exponents each";
  std::copy(numbers[4].begin(), numbers[4].end(), t.below.begin());
  std::copy(numbers[5].begin(), numbers[5].end(), t.above.begin());
  for (std::size_t i = 0; i < 3; ++i) {
    if (t.below[i] < 0 || t.above[i] < 0) return "exponents are not negative";
  }
  if (numbers[6].size() != 2 || !(numbers[6][1] > 0)) return "log has an offset and a step above 0";
  scale = {numbers[6][0], numbers[6][1]};
  return {};
}

}  // namespace

Parsed<GemmTable> gemm_table_from(std::string_view text) {
  GemmTable t;
  LogScale scale;
  std::vector<std::string_view> const lines = split_lines(text);
  if (std::string error = read_header(lines, t, scale); !error.empty())
    return {std::nullopt, std::move(error)};
  t.log_ratio.assign(t.n.size() * t.k.size() * t.m.size(), std::numeric_limits<double>::quiet_NaN());
  std::vector<double> row;
  std::vector<double> pair;
  bool any = false;
  for (std::size_t l = kHeaderLines; l < lines.size(); ++l) {
    std::vector<std::string_view> const words = split_words(lines[l]);
    std::string const bad = fmt::format(
        "line {} of a gemm table is \"n k codes\" with n and k of the knots and "
        "two characters for each m",
        l + 1);
    if (words.size() != 3 || !read_numbers({words[0], words[1]}, 0, pair) || !decode(words[2], scale, row) ||
        row.size() != t.m.size()) {
      return {std::nullopt, bad};
    }
    std::size_t const i = index_of(t.n, pair[0]);
    std::size_t const j = index_of(t.k, pair[1]);
    if (i == t.n.size() || j == t.k.size()) return {std::nullopt, bad};
    for (std::size_t im = 0; im < row.size(); ++im) {
      t.at(i, j, im) = row[im];
      any = any || !std::isnan(row[im]);
    }
  }
  if (!any) return {std::nullopt, "a gemm table holds at least one measured time"};
  return {std::move(t), {}};
}

Seconds price(GemmTable const& table, Gpu const& gpu, double m, double n, double k) {
  return GemmPrices(table, gpu).at(m, n, k);
}

}  // namespace rollcast
