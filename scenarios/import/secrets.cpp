#include "scenarios/import/secrets.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace rollcast {
namespace {

constexpr std::string_view kHidden = "(hidden)";
// Of Hugging Face, OpenAI, GitHub, Slack, AWS, Google and the like.
constexpr std::array<std::string_view, 12> kPrefixes = {
    "hf_", "sk-", "ghp_", "gho_", "github_pat_", "xox", "AKIA", "ASIA", "AIza", "nvapi-", "glpat-", "ya29."};
constexpr std::array<std::string_view, 9> kNames = {"api_key", "apikey",   "access_key", "wandb_key", "token",
                                                    "secret",  "password", "passwd",     "credential"};
// Names that hold such a word and are no secrets.
constexpr std::array<std::string_view, 8> kHarmless = {"tokens",   "tokenizer", "tokenization", "token_len",
                                                       "token_id", "token_dis", "token_level",  "token-mean"};

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::string plain(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c == '-' ? '_' : lower(c);
  return out;
}

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-.").find(c) != std::string_view::npos;
}

bool names_secret(std::string_view word) {
  std::string const w = plain(word);
  for (std::string_view name : kNames) {
    std::size_t const at = w.find(name);
    if (at == std::string::npos) continue;
    std::string const rest = w.substr(at);
    bool const harmless = std::any_of(kHarmless.begin(), kHarmless.end(),
                                      [&](std::string_view h) { return rest.starts_with(plain(h)); });
    if (!harmless) return true;
  }
  return false;
}

bool is_secret(std::string_view word) {
  if (word.size() < 8) return false;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view p) { return word.starts_with(p) && word.size() >= p.size() + 8; });
}

// The end of what a name is set to, from behind the name on; `at` when nothing follows.
std::size_t value_end(std::string_view s, std::size_t at, std::size_t& start) {
  std::size_t i = at;
  while (i < s.size() && std::string_view(" =:\"'\t\\").find(s[i]) != std::string_view::npos) ++i;
  if (i == at) return at;
  // A sentence goes on with a small word; a value is set by '=' or ':', or follows a flag.
  start = i;
  while (i < s.size() && std::string_view(" \"',;\t\n").find(s[i]) == std::string_view::npos) ++i;
  return i;
}

}  // namespace

std::string without_secrets(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size();) {
    if (!in_word(s[i])) {
      out += s[i++];
      continue;
    }
    std::size_t end = i;
    while (end < s.size() && in_word(s[end])) ++end;
    std::string_view const word = s.substr(i, end - i);
    // user:password@host
    std::string_view const behind = s.substr(end, 200);
    std::size_t const at_sign = behind.find_first_of("@ \t\n/");
    if (behind.starts_with(':') && at_sign != std::string_view::npos && behind[at_sign] == '@') {
      out += kHidden;
      i = end + at_sign;
      continue;
    }
    out += is_secret(word) ? kHidden : word;
    std::size_t start = end;
    std::size_t const stop = names_secret(word) ? value_end(s, end, start) : end;
    bool const flag = word.starts_with("--");
    bool const assigned = s.substr(end, start - end).find_first_of("=:") != std::string_view::npos;
    bool const next_flag = s.substr(start).starts_with("--");
    if (stop > start && (assigned || flag) && !next_flag) {
      out += s.substr(end, start - end);
      out += kHidden;
      end = stop;
    }
    i = end;
  }
  return out;
}

}  // namespace rollcast
