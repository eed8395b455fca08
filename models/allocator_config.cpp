#include "models/allocator_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <stdexcept>

namespace rollcast {
namespace {

constexpr std::int64_t kMostMiB = std::int64_t{1} << 20;  // more than any card has

std::int64_t round_up(std::int64_t size, std::int64_t unit) { return (size + unit - 1) / unit * unit; }

int floor_log2(std::int64_t v) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(v))) - 1; }

bool power_of_two(std::int64_t v) { return v > 0 && std::has_single_bit(static_cast<std::uint64_t>(v)); }

// Stays inside this file: parse_allocator_config turns it into a value.
struct BadConfig {
  std::string what;
};

// Words, and the signs , : [ ] one by one.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> out;
  bool in_word = false;
  for (char const c : text) {
    if (std::isspace(static_cast<unsigned char>(c))) continue;
    bool const sign = c == ',' || c == ':' || c == '[' || c == ']';
    if (in_word && !sign) {
      out.back() += c;
    } else {
      out.emplace_back(1, c);
    }
    in_word = !sign;
  }
  return out;
}

class ConfigReader {
 public:
  explicit ConfigReader(std::string_view text) : tokens_(tokens_of(text)) {}

  bool at_end() const { return next_ == tokens_.size(); }
  bool next_is(std::string_view token) const { return !at_end() && tokens_[next_] == token; }
  void expect(std::string_view token) {
    if (!next_is(token))
      throw BadConfig{"expected '" + std::string(token) + "' " +
                      (at_end() ? "at the end" : "before '" + tokens_[next_] + "'")};
    ++next_;
  }
  std::string word() {
    if (at_end()) throw BadConfig{"a value is missing at the end"};
    return tokens_[next_++];
  }
  template <class Number>
  Number number() {
    std::string const text = word();
    Number v{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error != std::errc() || end != text.data() + text.size() || v < Number{})
      throw BadConfig{"expected a number, not '" + text + "'"};
    return v;
  }
  std::int64_t mebibytes(std::string const& key, std::int64_t least) {
    auto const v = number<std::int64_t>();
    if (v < least) throw BadConfig{key + " must be at least " + std::to_string(least)};
    return std::min(v, kMostMiB) * kMiB;
  }
  double share(std::string const& key, bool one_allowed) {
    auto const v = number<double>();
    if (!(v > 0 && (v < 1 || (one_allowed && v <= 1)))) throw BadConfig{key + " must lie between 0 and 1"};
    return v;
  }
  bool flag() {
    std::string const text = word();
    if (text != "True" && text != "False") throw BadConfig{"expected True or False, not '" + text + "'"};
    return text == "True";
  }

 private:
  std::vector<std::string> tokens_;
  std::size_t next_ = 0;
};

// One number for all sizes, or [1:2,64:4,>:8]: the divisions of sizes from 1 MiB, from 64 MiB, and above.
// The first also holds below it. In older versions '>' overwrote the interval named last as well.
void read_divisions(ConfigReader& in, std::array<std::int64_t, 16>& divisions) {
  auto const divisions_of = [&in](bool zero_allowed) {
    auto const v = in.number<std::int64_t>();
    if (!power_of_two(v) && !(zero_allowed && v == 0))
      throw BadConfig{"roundup_power2_divisions must be powers of two"};
    return v;
  };
  if (!in.next_is("[")) {
    divisions.fill(divisions_of(false));
    return;
  }
  in.expect("[");
  auto last = divisions.begin();
  for (bool first = true; !in.next_is("]"); first = false) {
    if (!first) in.expect(",");
    if (in.next_is(">")) {
      in.expect(">");
      in.expect(":");
      std::fill(last + 1, divisions.end(), divisions_of(true));
      continue;
    }
    auto const from = in.number<std::int64_t>();
    if (!power_of_two(from)) throw BadConfig{"intervals of roundup_power2_divisions must be powers of two"};
    in.expect(":");
    auto const v = divisions_of(true);
    last = divisions.begin() + std::min<std::ptrdiff_t>(floor_log2(from), std::ssize(divisions) - 1);
    if (first) std::fill(divisions.begin(), last, v);
    *last = v;
  }
  in.expect("]");
}

void read_option(ConfigReader& in, std::string const& key, AllocatorConfigResult& out) {
  AllocatorConfig& c = *out.config;
  if (key == "max_split_size_mb") {
    c.max_split_size = in.mebibytes(key, 20);
  } else if (key == "max_non_split_rounding_mb") {
    c.max_non_split_rounding = in.mebibytes(key, 20);
  } else if (key == "large_segment_size_mb") {
    c.large_segment_size = in.mebibytes(key, 11);
  } else if (key == "roundup_power2_divisions") {
    read_divisions(in, c.roundup_power2_divisions);
  } else if (key == "garbage_collection_threshold") {
    c.garbage_collection_threshold = in.share(key, false);
  } else if (key == "expandable_segments") {
    c.expandable_segments = in.flag();
  } else if (key == "per_process_memory_fraction") {
    c.per_process_memory_fraction = in.share(key, true);
  } else if (key == "backend") {
    if (std::string const backend = in.word(); backend != "native")
      throw BadConfig{"backend '" + backend + "' is not modelled; only native is"};
    out.without_effect.push_back(key);
  } else if (key.starts_with("pinned_") || key == "release_lock_on_cudamalloc" ||
             key == "graph_capture_record_stream_reuse") {
    in.word();
    out.without_effect.push_back(key);
  } else {
    throw BadConfig{"unknown option '" + key + "'"};
  }
}

}  // namespace

AllocatorConfigResult parse_allocator_config(std::string_view text) {
  AllocatorConfigResult out;
  out.config.emplace();
  ConfigReader in(text);
  try {
    while (!in.at_end()) {
      std::string const key = in.word();
      in.expect(":");
      read_option(in, key, out);
      if (!in.at_end()) in.expect(",");
    }
  } catch (BadConfig const& bad) {
    out = {};
    out.error = bad.what;
  }
  return out;
}

std::string to_text(AllocatorConfig const& c) {
  AllocatorConfig const standard;
  std::string out;
  auto const add = [&out](std::string const& option) { out += (out.empty() ? "" : ",") + option; };
  auto const add_size = [&add](char const* key, std::int64_t size, std::int64_t usual) {
    if (size != usual) add(fmt::format("{}:{}", key, size / kMiB));
  };
  add_size("max_split_size_mb", c.max_split_size, standard.max_split_size);
  add_size("max_non_split_rounding_mb", c.max_non_split_rounding, standard.max_non_split_rounding);
  add_size("large_segment_size_mb", c.large_segment_size, standard.large_segment_size);
  if (c.roundup_power2_divisions != standard.roundup_power2_divisions) {
    std::string list;
    for (std::size_t i = 0; i < c.roundup_power2_divisions.size(); ++i)
      list += fmt::format("{}{}:{}", i > 0 ? "," : "", 1 << i, c.roundup_power2_divisions[i]);
    add("roundup_power2_divisions:[" + list + "]");
  }
  if (c.garbage_collection_threshold > 0)
    add(fmt::format("garbage_collection_threshold:{}", c.garbage_collection_threshold));
  if (c.expandable_segments) add("expandable_segments:True");
  if (c.per_process_memory_fraction < 1)
    add(fmt::format("per_process_memory_fraction:{}", c.per_process_memory_fraction));
  return out;
}

std::int64_t block_size(std::int64_t bytes, AllocatorConfig const& c) {
  if (bytes <= 0) throw std::logic_error("block_size: a request of no bytes");
  if (bytes < kSmallestBlock) return kSmallestBlock;
  int const interval = std::clamp(floor_log2(bytes) - 20, 0, 15);
  std::int64_t const divisions = c.roundup_power2_divisions[static_cast<std::size_t>(interval)];
  if (divisions <= 1 || (bytes - 1) / kSmallestBlock < divisions) return round_up(bytes, kSmallestBlock);
  std::int64_t const step = (std::int64_t{1} << floor_log2(bytes)) / divisions;
  return round_up(bytes, step);
}

std::int64_t segment_size(std::int64_t block, AllocatorConfig const& c) {
  if (block <= kLargestSmall) return kSmallSegment;
  if (block < kLeastOwnSegment) return c.large_segment_size;
  return round_up(block, kSegmentRounding);
}

}  // namespace rollcast
