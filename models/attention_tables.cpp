#include "models/attention_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>

#include "models/table_text.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;  // queries, outputs, prompts are bf16
constexpr std::size_t kHeaderLines = 7;

std::size_t index_of(std::vector<double> const& knots, double v) {
  auto const it = std::lower_bound(knots.begin(), knots.end(), v);
  return it == knots.end() || *it > v ? knots.size() : static_cast<std::size_t>(it - knots.begin());
}

std::string read_header(std::vector<std::string_view> const& lines, AttentionTable& t, LogScale& scale) {
  std::array<std::string_view, kHeaderLines> const names = {"attention", "kv_bytes", "window", "shortest",
                                                            "batch",     "length",   "log"};
  if (lines.size() < kHeaderLines) {
    return "an attention table starts with the lines attention, kv_bytes, window, shortest, batch, length, "
           "log";
  }
  std::array<std::vector<double>, kHeaderLines> numbers;
  for (std::size_t i = 0; i < kHeaderLines; ++i) {
    std::vector<std::string_view> const words = split_words(lines[i]);
    if (words.size() < 2 || words[0] != names[i]) {
      return fmt::format("line {} of an attention table starts with \"{}\"", i + 1, names[i]);
    }
    if (i == 0) {
      if (words[1] != "decode" && words[1] != "prefill") {
        return fmt::format("\"{}\" is no kind of attention; decode and prefill are", words[1]);
      }
      t.kind = words[1] == "decode" ? AttentionKind::decode : AttentionKind::prefill;
    } else if (!read_numbers(words, 1, numbers[i])) {
      return fmt::format("line {} of an attention table holds numbers after \"{}\"", i + 1, names[i]);
    }
  }
  if (numbers[1].size() != 1 || !(numbers[1][0] > 0)) return "kv_bytes is one number above 0";
  if (numbers[2].size() != 1 || numbers[2][0] < 0) return "window is one number, 0 or more";
  if (numbers[3].size() != 1 || !(numbers[3][0] > 0)) return "shortest is one number above 0";
  t.kv_bytes = numbers[1][0];
  t.window = numbers[2][0];
  t.shortest = seconds(numbers[3][0]);
  t.batch = numbers[4];
  t.length = numbers[5];
  if (!ascends(t.batch) || !ascends(t.length)) return "knots of batch and length ascend from above 0";
  if (numbers[6].size() != 2 || !(numbers[6][1] > 0)) return "log has an offset and a step above 0";
  scale = {numbers[6][0], numbers[6][1]};
  return {};
}

}  // namespace

std::string_view name_of(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::decode:
      return "decode";
    case AttentionKind::prefill:
      return "prefill";
  }
  throw std::logic_error("no such AttentionKind");
}

double causal_pairs_twice(double length, double window) {
  return window > 0 && window < length ? 2 * window * length - window * window : length * length;
}

Seconds attention_roofline(Gpu const& gpu, AttentionTable const& t, HeadShape s, double batch,
                           double length) {
  if (t.kind == AttentionKind::prefill) {
    Flops const work(2 * batch * causal_pairs_twice(length, t.window) * s.heads * s.head_dim);
    Bytes const moved = bytes(2 * kElement * batch * length * (s.heads + s.kv_heads) * s.head_dim);
    return work / gpu.bf16 + moved / gpu.memory_bandwidth;
  }
  double const seen = t.window > 0 ? std::min(length, t.window) : length;
  Flops const work(4 * batch * seen * s.heads * s.head_dim);
  Bytes const moved =
      bytes(batch * s.head_dim * (2 * seen * s.kv_heads * t.kv_bytes + 2 * kElement * s.heads));
  return max(work / gpu.bf16, moved / gpu.memory_bandwidth);
}

std::string to_text(AttentionTable const& t) {
  LogScale const scale = scale_of(t.log_ratio);
  std::string text =
      fmt::format("attention {}\nkv_bytes {}\nwindow {}\nshortest {}\nbatch {}\nlength {}\nlog {}\n",
                  name_of(t.kind), join({t.kv_bytes}), join({t.window}), join({t.shortest.value}),
                  join(t.batch), join(t.length), join({scale.offset, scale.step}));
  auto row = t.log_ratio.begin();
  for (HeadShape const& s : t.shapes) {
    for (double const b : t.batch) {
      std::vector<double> const values(row, row + static_cast<std::ptrdiff_t>(t.length.size()));
      row += static_cast<std::ptrdiff_t>(t.length.size());
      if (std::all_of(values.begin(), values.end(), [](double v) { return std::isnan(v); })) continue;
      text += fmt::format("{} {}\n", join({s.heads, s.kv_heads, s.head_dim, b}), encode(values, scale));
    }
  }
  return text;
}

Parsed<AttentionTable> attention_table_from(std::string_view text) {
  AttentionTable t;
  LogScale scale;
  std::vector<std::string_view> const lines = split_lines(text);
  if (std::string error = read_header(lines, t, scale); !error.empty())
    return {std::nullopt, std::move(error)};
  std::map<std::tuple<double, double, double>, std::size_t> known;
  std::size_t const per_shape = t.batch.size() * t.length.size();
  std::vector<double> row;
  std::vector<double> numbers;
  for (std::size_t l = kHeaderLines; l < lines.size(); ++l) {
    std::vector<std::string_view> words = split_words(lines[l]);
    std::string_view const codes = words.back();
    words.pop_back();
    std::size_t batch = t.batch.size();
    bool good = words.size() == 4 && read_numbers(words, 0, numbers) && decode(codes, scale, row) &&
                row.size() == t.length.size() && numbers[0] > 0 && numbers[1] > 0 && numbers[2] > 0;
    if (good) batch = index_of(t.batch, numbers[3]);
    if (batch == t.batch.size()) {
      return {std::nullopt,
              fmt::format("line {} of an attention table is \"heads kv_heads head_dim batch codes\" "
                          "with batch of the knots and two characters for each length",
                          l + 1)};
    }
    auto const [it, added] = known.try_emplace({numbers[0], numbers[1], numbers[2]}, t.shapes.size());
    if (added) {
      t.shapes.push_back({numbers[0], numbers[1], numbers[2]});
      t.log_ratio.resize(t.log_ratio.size() + per_shape, std::numeric_limits<double>::quiet_NaN());
    }
    std::copy(
        row.begin(), row.end(),
        t.log_ratio.begin() + static_cast<std::ptrdiff_t>(it->second * per_shape + batch * t.length.size()));
  }
  if (std::all_of(t.log_ratio.begin(), t.log_ratio.end(), [](double v) { return std::isnan(v); })) {
    return {std::nullopt, "an attention table holds at least one measured time"};
  }
  return {std::move(t), {}};
}

Seconds price(AttentionTable const& table, Gpu const& gpu, HeadShape shape, double batch, double length) {
  return AttentionPrices(table, gpu, shape).at(batch, length);
}

}  // namespace rollcast
