#include "scenarios/import/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcast {
namespace {

Value scalar(std::string const& text) { return Value{ValueKind::scalar, {}, text, false, {}, {}}; }

std::string lowered(std::string s) {
  for (char& c : s) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return s;
}

}  // namespace

std::int64_t product(std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t kMost = 1'000'000'000'000'000;
  std::int64_t out = 1;
  for (std::int64_t f : factors) out = f > kMost / std::max<std::int64_t>(out, 1) ? kMost : out * f;
  return out;
}

bool Configuration::has(std::string_view key) const {
  Setting const* s = settings.find(key);
  return s != nullptr && !s->null;
}

void Configuration::use(std::vector<std::string> const& keys) {
  for (std::string const& key : keys) {
    if (Setting* s = settings.find(key)) s->used = true;
  }
}

void Configuration::use_below(std::string_view key) {
  std::string const below = std::string(key) + ".";
  for (Setting& s : settings.all()) s.used = s.used || s.key.starts_with(below);
}

std::optional<std::string> Configuration::value(std::string_view key, Setting*& s) {
  s = settings.find(key);
  if (s == nullptr) return {};
  s->used = true;
  if (s->null) return {};
  Resolved r = resolve(settings, *s);
  if (r.unset.empty()) return r.text;
  bool const variable = r.unset.find_first_of(".${(:`") == std::string::npos;
  problems.push_back(
      problem_at(document, s->mark, s->written, fmt::format("{} is not known here", shown(r.unset)),
                 variable ? fmt::format("give its value with --define {}=VALUE", shown(r.unset))
                          : "write the value out"));
  return {};
}

void Configuration::wrong(Setting const& s, std::string const& found, std::string remedy) {
  problems.push_back(
      problem_at(document, s.mark, s.written, fmt::format("'{}'", shown(found)), std::move(remedy)));
}

std::optional<std::int64_t> Configuration::whole(std::string_view key, Range range) {
  Setting* s = nullptr;
  auto const text = value(key, s);
  if (!text) return {};
  NumberText const n = parse_whole_number(scalar(*text));
  if (n.ok && holds(range, n.value)) return static_cast<std::int64_t>(n.value);
  wrong(*s, *text, n.ok ? "write a whole number " + words_of(range) : "write a whole number");
  return {};
}

std::optional<double> Configuration::number(std::string_view key, Range range) {
  Setting* s = nullptr;
  auto const text = value(key, s);
  if (!text) return {};
  NumberText const n = parse_number(scalar(*text));
  if (n.ok && holds(range, n.value)) return n.value;
  wrong(*s, *text, n.ok ? "write a number " + words_of(range) : "write a number");
  return {};
}

std::optional<bool> Configuration::flag(std::string_view key) {
  Setting* s = nullptr;
  auto const text = value(key, s);
  if (!text) return {};
  std::string const word = lowered(*text);
  if (s->values.empty() || word == "true" || word == "1" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "0" || word == "no" || word == "off") return false;
  wrong(*s, *text, "write true or false");
  return {};
}

std::optional<std::string> Configuration::text(std::string_view key) {
  Setting* s = nullptr;
  auto found = value(key, s);
  if (found && found->empty()) return {};
  return found;
}

std::optional<std::string> Configuration::path(std::string_view key) {
  Setting const* const s = settings.find(key);
  if (s != nullptr && !s->null) {
    Resolved const r = resolve(settings, *s);
    std::size_t const slash = r.text.rfind('/');
    if (!r.unset.empty() && slash != std::string::npos && slash + 1 < r.text.size()) {
      use({std::string(key)});
      return r.text.substr(slash + 1);
    }
  }
  return text(key);
}

std::vector<std::string> Configuration::list(std::string_view key) {
  Setting* s = settings.find(key);
  if (s == nullptr || s->null) return {};
  s->used = true;
  std::vector<std::string> out;
  for (std::string const& v : s->values) {
    // "q_proj,v_proj" in one word
    std::size_t from = 0;
    while (from <= v.size()) {
      std::size_t const comma = std::min(v.find(',', from), v.size());
      if (comma > from) out.push_back(v.substr(from, comma - from));
      from = comma + 1;
    }
  }
  return out;
}

std::int64_t Configuration::whole_or(std::string_view key, std::int64_t fallback, Range range) {
  auto const v = whole(key, range);
  if (!v) assume(fmt::format("{} = {}", key, fallback), "");
  return v.value_or(fallback);
}

double Configuration::number_or(std::string_view key, double fallback, Range range) {
  auto const v = number(key, range);
  if (!v) assume(fmt::format("{} = {:.9g}", key, fallback), "");
  return v.value_or(fallback);
}

bool Configuration::flag_or(std::string_view key, bool fallback) {
  auto const v = flag(key);
  if (!v) assume(fmt::format("{} = {}", key, fallback), "");
  return v.value_or(fallback);
}

std::string Configuration::text_or(std::string_view key, std::string_view fallback) {
  auto const v = text(key);
  if (!v) assume(fmt::format("{} = {}", key, fallback), "");
  return v.value_or(std::string(fallback));
}

void Configuration::assume(std::string_view what, std::string_view why) {
  assumed.push_back(why.empty() ? fmt::format("{}, the default of {}", what, name_of(framework))
                                : fmt::format("{}; {}", what, why));
}

void Configuration::problem(std::string_view key, std::string what, std::string remedy) {
  Setting const* s = settings.find(key);
  if (s != nullptr) {
    problems.push_back(problem_at(document, s->mark, s->written, std::move(what), std::move(remedy)));
  } else {
    problems.push_back(
        {document.sources.front().name, 0, 0, std::string(key), std::move(what), std::move(remedy), ""});
  }
}

}  // namespace rollcast
