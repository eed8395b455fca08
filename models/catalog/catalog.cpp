#include "models/catalog/catalog.hpp"

#include <array>
#include <string>
#include <utility>

#include "models/catalog/tables.hpp"

namespace rollcast {
namespace {

// Other names of a model. Tuned versions that only add a suffix are handled by kSuffixes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kAliases{{
    {"meta-llama-3-8b", "llama-3-8b"},
    {"meta-llama-3-70b", "llama-3-70b"},
    {"meta-llama-3.1-8b", "llama-3.1-8b"},
    {"meta-llama-3.1-70b", "llama-3.1-70b"},
    {"meta-llama-3.1-405b", "llama-3.1-405b"},
    {"qwen-1_8b", "qwen-1.8b"},
    // Qwen2 has the shapes of Qwen2.5 (config.json of both), with a shorter context.
    {"qwen2-0.5b", "qwen2.5-0.5b"},
    {"qwen2-1.5b", "qwen2.5-1.5b"},
    {"qwen2-7b", "qwen2.5-7b"},
    {"qwen2-72b", "qwen2.5-72b"},
    {"phi-1_5", "phi-1.5"},
    {"stablelm-alpha-3b", "stablelm-base-alpha-3b"},
    {"stablelm-tuned-alpha-3b", "stablelm-base-alpha-3b"},
    {"stablelm-zephyr-3b", "stablelm-3b-4e1t"},
    {"deepseek-v3-0324", "deepseek-v3"},
    {"deepseek-v3.1", "deepseek-v3"},
    {"deepseek-r1", "deepseek-v3"},
    {"deepseek-r1-0528", "deepseek-v3"},
}};

// A tuned version has the shapes of its base.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kSuffixes{{
    {"-instruct-2507", "-2507"},
    {"-thinking-2507", "-2507"},
    {"-instruct", ""},
    {"-thinking", ""},
    {"-base", ""},
    {"-chat-hf", ""},
    {"-chat", ""},
    {"-hf", ""},
}};

// "Qwen/Qwen2.5-7B-Instruct" -> "qwen2.5-7b-instruct"
std::string plain_name(std::string_view name) {
  auto const slash = name.rfind('/');
  std::string out(slash == std::string_view::npos ? name : name.substr(slash + 1));
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

template <class T>
T const* find_named(std::vector<T> const& entries, std::string_view name) {
  for (T const& e : entries) {
    if (e.name == name) return &e;
  }
  return nullptr;
}

Architecture const* find_with_alias(Catalog const& c, std::string_view name) {
  if (auto const* a = find_named(c.architectures, name)) return a;
  for (auto const& [alias, key] : kAliases) {
    if (alias == name) return find_named(c.architectures, key);
  }
  return nullptr;
}

}  // namespace

Catalog const& builtin_catalog() {
  static Catalog const catalog = [] {
    Catalog c;
    c.gpus = gpu_table();
    c.nodes = node_table(c.gpus);
    c.fabrics = fabric_table();
    c.architectures = architecture_table();
    return c;
  }();
  return catalog;
}

Gpu const* find_gpu(Catalog const& c, std::string_view name) { return find_named(c.gpus, name); }
Node const* find_node(Catalog const& c, std::string_view name) { return find_named(c.nodes, name); }
Fabric const* find_fabric(Catalog const& c, std::string_view name) { return find_named(c.fabrics, name); }

Architecture const* find_architecture(Catalog const& c, std::string_view name) {
  if (auto const* a = find_named(c.architectures, name)) return a;
  std::string const plain = plain_name(name);
  if (auto const* a = find_with_alias(c, plain)) return a;
  for (auto const& [suffix, replacement] : kSuffixes) {
    if (!plain.ends_with(suffix)) continue;
    std::string const base = plain.substr(0, plain.size() - suffix.size()) + std::string(replacement);
    if (auto const* a = find_with_alias(c, base)) return a;
  }
  return nullptr;
}

}  // namespace rollcast
