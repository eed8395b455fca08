#include "scenarios/import/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "scenarios/import/expansion.hpp"

namespace rollcast {
namespace {

constexpr int kDeepest = 16;
constexpr int kMostPieces = 10'000;
constexpr std::size_t kMostSettings = 50'000;
constexpr std::size_t kLongest = 1 << 16;

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

std::string_view unquoted(std::string_view s) {
  s = trimmed(s);
  if (s.size() >= 2 && (s.front() == '"' || s.front() == '\'') && s.back() == s.front())
    return s.substr(1, s.size() - 2);
  return s;
}

bool is_null(std::string_view s) { return s == "null" || s == "None" || s == "~"; }

// Whether a word begins a flag, which a negative number does not.
bool is_flag(std::string_view w) {
  if (w.size() < 2 || w.front() != '-') return false;
  char const c = w[1] == '-' && w.size() > 2 ? w[2] : w[1];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string key_of_flag(std::string_view w) {
  w.remove_prefix(std::min(w.find_first_not_of('-'), w.size()));
  std::string key(w.substr(0, w.find('=')));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> out;
  text = text.substr(1, text.size() - 2);
  while (!trimmed(text).empty()) {
    std::size_t const comma = text.find(',');
    out.emplace_back(unquoted(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return out;
}

bool is_key(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.-/@").find(c) != std::string_view::npos;
  });
}

class Resolver {
 public:
  explicit Resolver(Settings const& settings) : settings_(settings) {}

  Resolved text(std::string_view s, std::string_view key) {
    Resolved out;
    if (++depth_ > kDeepest || ++pieces_ > kMostPieces) {
      out.unset = std::string(s.substr(0, 60));
      --depth_;
      return out;
    }
    for (std::size_t i = 0; i < s.size() && out.text.size() < kLongest;) {
      std::size_t const open = s.find("${", i);
      std::size_t const end = open == std::string_view::npos ? open : closing(s, open + 1);
      out.text += s.substr(i, (end == std::string_view::npos ? s.size() : open) - i);
      if (end == std::string_view::npos) break;
      Resolved const inner = piece(s.substr(open + 2, end - open - 2), key);
      out.text += inner.text;
      if (out.unset.empty()) out.unset = inner.unset;
      i = end + 1;
    }
    --depth_;
    return out;
  }

 private:
  static std::size_t closing(std::string_view s, std::size_t at) {
    int depth = 0;
    for (std::size_t i = at; i < s.size(); ++i) {
      if (s[i] == '{') ++depth;
      if (s[i] == '}' && --depth == 0) return i;
    }
    return std::string_view::npos;
  }

  // The arguments of "mul:a, b", commas inside ${} left alone.
  static std::vector<std::string_view> arguments(std::string_view s) {
    std::vector<std::string_view> out;
    int depth = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (s[i] == '{') ++depth;
      if (s[i] == '}') --depth;
      if (s[i] == ',' && depth == 0) {
        out.push_back(trimmed(s.substr(start, i - start)));
        start = i + 1;
      }
    }
    out.push_back(trimmed(s.substr(start)));
    return out;
  }

  Resolved lookup(std::string_view name, std::string_view key) {
    std::string path(trimmed(name));
    std::string_view base = key;
    while (path.starts_with('.')) {
      path.erase(0, 1);
      std::size_t const dot = base.rfind('.');
      base = base.substr(0, dot == std::string_view::npos ? 0 : dot);
      if (!path.starts_with('.')) path = base.empty() ? path : std::string(base) + "." + path;
    }
    Setting const* s = settings_.find(path);
    if (s == nullptr || s->null || s->values.empty()) return {"", path};
    Resolved out = text(s->values.front(), s->key);
    if (!s->unset.empty()) out.unset = s->unset;
    return out;
  }

  Resolved piece(std::string_view s, std::string_view key) {
    std::size_t const colon = s.find(':');
    if (colon == std::string_view::npos) return lookup(s, key);
    std::string_view const function = s.substr(0, colon);
    auto const args = arguments(s.substr(colon + 1));
    if (function == "oc.select") {
      Resolved const found = lookup(args.front(), key);
      if (found.unset.empty() || args.size() < 2) return found;
      return text(unquoted(args[1]), key);
    }
    if ((function == "mul" || function == "add" || function == "sub" || function == "div" ||
         function == "int_div") &&
        args.size() >= 2)
      return calculate(function, args, key);
    return {"", std::string(s.substr(0, 60))};
  }

  Resolved calculate(std::string_view function, std::vector<std::string_view> const& args,
                     std::string_view key) {
    std::int64_t total = 0;
    for (std::size_t k = 0; k < args.size(); ++k) {
      Resolved const r = text(args[k], key);
      if (!r.unset.empty()) return r;
      std::int64_t v = 0;
      auto const [end, error] = std::from_chars(r.text.data(), r.text.data() + r.text.size(), v);
      bool bad = error != std::errc() || end != r.text.data() + r.text.size();
      if (k == 0) {
        total = v;
      } else if (function == "mul") {
        bad = bad || __builtin_mul_overflow(total, v, &total);
      } else if (function == "add") {
        bad = bad || __builtin_add_overflow(total, v, &total);
      } else if (function == "sub") {
        bad = bad || __builtin_sub_overflow(total, v, &total);
      } else {
        bad = bad || v <= 0;
        if (!bad) total /= v;
      }
      if (bad) return {"", std::string(args[k].substr(0, 60))};
    }
    return {std::to_string(total), ""};
  }

  Settings const& settings_;
  int depth_ = 0;
  int pieces_ = 0;
};

}  // namespace

void Settings::add(Setting s) {
  auto const it = index_.find(s.key);
  if (it != index_.end()) {
    settings_[it->second] = std::move(s);
  } else if (settings_.size() < kMostSettings) {
    index_[s.key] = settings_.size();
    settings_.push_back(std::move(s));
  }
}

void Settings::add_all(Settings const& later) {
  for (Setting const& s : later.settings_) {
    if (s.key.empty()) continue;
    if (s.null) erase(s.key);
    add(s);
  }
}

void Settings::erase(std::string_view key) {
  auto const drop = [&](auto it) {
    settings_[it->second].key.clear();
    return index_.erase(it);
  };
  if (auto const it = index_.find(key); it != index_.end()) drop(it);
  std::string const below = std::string(key) + ".";
  for (auto it = index_.lower_bound(below); it != index_.end() && it->first.starts_with(below);)
    it = drop(it);
}

Setting* Settings::find(std::string_view key) {
  auto const it = index_.find(key);
  return it == index_.end() ? nullptr : &settings_[it->second];
}

Setting const* Settings::find(std::string_view key) const {
  auto const it = index_.find(key);
  return it == index_.end() ? nullptr : &settings_[it->second];
}

bool Settings::has_below(std::string_view prefix) const {
  std::string const below = std::string(prefix) + ".";
  auto const it = index_.lower_bound(below);
  return index_.contains(prefix) || (it != index_.end() && it->first.starts_with(below));
}

void add_flags(std::vector<Word> const& all, std::size_t from, Settings& out) {
  std::vector<Word> words;
  for (std::size_t i = from; i < all.size(); ++i) {
    if (!all[i].text.empty() || !all[i].unset.ends_with(kAll)) words.push_back(all[i]);
  }
  from = 0;
  for (std::size_t i = from; i < words.size();) {
    Word const& w = words[i++];
    if (!is_flag(w.text)) continue;
    Setting s;
    s.key = key_of_flag(w.text);
    s.written = w.text.substr(0, w.text.find('='));
    s.mark = w.mark;
    s.unset = w.unset;
    if (std::size_t const equals = w.text.find('='); equals != std::string::npos) {
      s.values.emplace_back(unquoted(std::string_view(w.text).substr(equals + 1)));
    }
    while (i < words.size() && !is_flag(words[i].text)) {
      if (s.values.empty()) s.mark = words[i].mark;
      if (s.unset.empty()) s.unset = words[i].unset;
      s.values.push_back(words[i++].text);
    }
    s.null = s.values.size() == 1 && is_null(s.values.front());
    out.add(std::move(s));
  }
}

void add_overrides(std::vector<Word> const& words, std::size_t from, Settings& out) {
  for (std::size_t i = from; i < words.size(); ++i) {
    std::string_view text = words[i].text;
    if (text.starts_with('~')) {
      out.erase(text.substr(1, text.find('=') - 1));
      continue;
    }
    text.remove_prefix(std::min(text.find_first_not_of('+'), text.size()));
    std::size_t const equals = text.find('=');
    if (equals == std::string_view::npos || !is_key(text.substr(0, equals)) || text.starts_with('-'))
      continue;
    Setting s;
    s.key = std::string(text.substr(0, equals));
    s.written = s.key;
    s.mark = words[i].mark;
    s.unset = words[i].unset;
    std::string_view const value = trimmed(text.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '[' && value.back() == ']') {
      s.values = list_of(value);
    } else {
      s.values.emplace_back(unquoted(value));
    }
    s.null = is_null(value);
    if (s.null) out.erase(s.key);
    out.add(std::move(s));
  }
}

void add_tree(Value const& v, std::string const& prefix, Settings& out) {
  if (v.kind == ValueKind::map) {
    for (Entry const& e : v.entries) add_tree(e.value, prefix.empty() ? e.key : prefix + "." + e.key, out);
    return;
  }
  Setting s;
  s.key = prefix;
  s.written = prefix;
  s.mark = v.mark;
  if (v.kind == ValueKind::list) {
    for (Value const& item : v.items) s.values.push_back(item.kind == ValueKind::scalar ? item.text : "");
  } else if (v.kind == ValueKind::scalar && (v.quoted || !is_null(v.text))) {
    s.values.push_back(v.text);
  } else {
    s.null = true;
    out.erase(prefix);
  }
  out.add(std::move(s));
}

Resolved resolve(Settings const& settings, Setting const& s) {
  if (s.values.empty()) return {"", s.unset};
  Resolved out = Resolver(settings).text(s.values.front(), s.key);
  if (!s.unset.empty()) out.unset = s.unset;
  return out;
}

}  // namespace rollcast
