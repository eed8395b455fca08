#include "calibrate/split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

namespace rollcast {
namespace {

using Table =
    std::tuple<std::string, std::string, std::string, std::string, std::string, std::string, double>;
using Heads = std::tuple<double, double, double>;  // head_dim, heads, kv_heads

bool is_attention(std::string const& operation) {
  return operation == "attention_decode" || operation == "attention_prefill";
}

bool is_served(std::string const& operation) { return operation.starts_with("served_"); }

std::string key_of(std::string_view name, Sample const& s, std::vector<std::string> const& dimensions) {
  std::string key(name);
  for (std::string const& d : dimensions) key += fmt::format("|{:.0f}", dimension(s, d));
  return key;
}

Table table_of(Sample const& s) {
  return {s.gpu,
          s.operation,
          s.variant,
          s.dtype,
          s.version,
          s.fabric,
          is_collective(s.operation) ? dimension(s, "nodes") : 0};
}

// The dimension whose values decide together which of them are held out; empty: none.
std::string swept(std::string const& operation) {
  if (operation == "attention_decode") return "context";
  if (operation == "attention_prefill" || operation == "attention_backward") return "length";
  if (operation == "memory_pass") return "width";
  return is_collective(operation) ? "bytes" : "";
}

Heads heads_of(Sample const& s) {
  return {dimension(s, "head_dim"), dimension(s, "heads"), dimension(s, "kv_heads")};
}

struct Values {
  std::set<double> swept;
  std::set<Heads> heads;
};

bool is_interior(std::set<Heads> const& all, Heads const& h) {
  auto const [dim, heads, kv] = h;
  bool fewer = false, more = false, fewer_kv = false, more_kv = false;
  for (auto const& [d, n, k] : all) {
    if (d < dim || dim < d) continue;
    fewer = fewer || n < heads;
    more = more || n > heads;
    bool const same = !(n < heads) && !(heads < n);
    fewer_kv = fewer_kv || (same && k < kv);
    more_kv = more_kv || (same && k > kv);
  }
  return fewer && more && fewer_kv && more_kv;
}

struct Held {
  std::set<double> values;
  std::map<double, bool> swept;
  std::map<Heads, bool> heads;
};

bool holds_out_pass(Sample const& s, std::set<double> const& widths) {
  double const width = dimension(s, "width");
  if (holds_out(fmt::format("memory_pass|{:.0f}", dimension(s, "tokens")))) return true;
  return *widths.begin() < width && width < *widths.rbegin() &&
         holds_out(fmt::format("memory_pass|{}|{:.0f}", s.variant, width));
}

Held hold(Values const& values) {
  Held held;
  held.values = values.swept;
  bool odd = false;
  for (double const v : values.swept) {
    held.swept[v] = odd;
    odd = !odd;
  }
  for (Heads const& h : values.heads) {
    auto const [dim, heads, kv] = h;
    held.heads[h] =
        holds_out(fmt::format("heads|{:.0f}|{:.0f}|{:.0f}", heads, kv, dim)) && is_interior(values.heads, h);
  }
  return held;
}

SampleSplit split_of(Sample const& s, Held const& held, SplitOptions const& options) {
  if (is_collective(s.operation) && options.held_ranks > 0 && dimension(s, "nodes") < 1.5 &&
      static_cast<int>(dimension(s, "ranks")) == options.held_ranks)
    return SampleSplit::heldout_ranks;
  if (is_served(s.operation)) return dimension(s, "tp") > 2.5 ? SampleSplit::heldout : SampleSplit::train;
  std::string const by = swept(s.operation);
  if (by.empty()) return holds_out(shape_key(s)) ? SampleSplit::heldout : SampleSplit::train;
  if (s.operation == "memory_pass")
    return holds_out_pass(s, held.values) ? SampleSplit::heldout : SampleSplit::train;
  bool const value = held.swept.at(dimension(s, by));
  bool const heads = is_attention(s.operation) && held.heads.at(heads_of(s));
  if (heads) return value ? SampleSplit::heldout_both : SampleSplit::heldout_heads;
  return value ? SampleSplit::heldout : SampleSplit::train;
}

}  // namespace

std::string_view name_of(SampleSplit s) {
  switch (s) {
    case SampleSplit::train:
      return "train";
    case SampleSplit::heldout:
      return "heldout";
    case SampleSplit::heldout_heads:
      return "heldout_heads";
    case SampleSplit::heldout_both:
      return "heldout_both";
    case SampleSplit::heldout_ranks:
      return "heldout_ranks";
  }
  throw std::logic_error("no such SampleSplit");
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (char const c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

std::string shape_key(Sample const& s) {
  if (s.operation == "gemm") return key_of("gemm", s, {"n", "k"});
  if (s.operation == "moe")
    return key_of("moe", s, {"hidden", "intermediate", "experts", "top_k", "tp", "ep"});
  return {};
}

bool holds_out(std::string_view key) { return !key.empty() && hash_of(key) % 5 == 0; }

std::vector<SampleSplit> split_of(std::vector<Sample> const& samples, SplitOptions const& options) {
  std::map<Table, Values> values;
  for (Sample const& s : samples) {
    std::string const by = swept(s.operation);
    if (by.empty()) continue;
    Values& v = values[table_of(s)];
    v.swept.insert(dimension(s, by));
    if (is_attention(s.operation)) v.heads.insert(heads_of(s));
  }
  std::map<Table, Held> held;
  for (auto const& [table, v] : values) held[table] = hold(v);
  Held const none;
  std::vector<SampleSplit> splits;
  splits.reserve(samples.size());
  for (Sample const& s : samples) {
    splits.push_back(split_of(s, swept(s.operation).empty() ? none : held.at(table_of(s)), options));
  }
  return splits;
}

std::vector<Sample> train_samples(std::vector<Sample> const& samples, SplitOptions const& options) {
  std::vector<SampleSplit> const splits = split_of(samples, options);
  std::vector<Sample> kept;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (splits[i] == SampleSplit::train) kept.push_back(samples[i]);
  }
  return kept;
}

}  // namespace rollcast
