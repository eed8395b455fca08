#include "calibrate/import/gpu_names.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words(1);
  for (char const c : text) {
    auto const u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0) {
      words.back() += static_cast<char>(std::tolower(u));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

struct Name {
  std::string_view word;
  std::string_view with;  // a second word, "" for none
  std::string_view gpu;
};

// The first that fits: rows with a second word stand before the one without.
constexpr Name kNames[] = {
    {"h100", "pcie", "h100-pcie"},
    {"h100", "", "h100-sxm"},
    {"h200", "", "h200-sxm"},
    {"h800", "", "h800-sxm"},
    {"h20", "", "h20-sxm"},
    {"a100", "pcie", "a100-pcie-80gb"},
    {"a100", "40gb", "a100-sxm-40gb"},
    {"a100", "", "a100-sxm-80gb"},
    {"a800", "", "a800-sxm-80gb"},
    {"l40s", "", "l40s"},
    {"l20", "", "l20"},
    {"a10g", "", "a10g"},
    {"a6000", "", "a6000"},
    {"v100", "", "v100-sxm-32gb"},
    {"4090", "", "rtx-4090"},
    {"gb200", "", "gb200"},
    {"b200", "", "b200-sxm"},
    {"c550", "", "c550"},
};

}  // namespace

std::string gpu_named_in(std::string_view text) {
  if (find_gpu(builtin_catalog(), text) != nullptr) return std::string(text);
  std::vector<std::string> const words = words_in(text);
  auto const has = [&](std::string_view w) {
    return w.empty() || std::find(words.begin(), words.end(), w) != words.end();
  };
  // Cards that the catalog does not hold and that a row below would take for another one.
  if (has("a100") && has("pcie") && has("40gb")) return {};
  if (has("h100") && has("nvl")) return {};
  for (Name const& n : kNames) {
    if (has(n.word) && has(n.with)) return std::string(n.gpu);
  }
  return {};
}

std::vector<std::string> parts_of_path(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    auto const slash = path.find('/');
    if (slash != 0) parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

std::string gpu_of_path(std::string_view path) {
  std::vector<std::string> const parts = parts_of_path(path);
  for (auto it = parts.rbegin(); it != parts.rend(); ++it) {
    if (std::string gpu = gpu_named_in(*it); !gpu.empty()) return gpu;
  }
  return {};
}

}  // namespace rollcast
