#include "scenarios/import/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/text/document.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kWidth = 120;
constexpr std::array<std::string_view, 11> kOrder = {"model",     "cluster",  "pools", "framework",
                                                     "algorithm", "workload", "train", "rollout",
                                                     "placement", "schedule", "score"};

bool is_plain(std::string_view s) {
  if (s.empty() || !((s.front() >= 'a' && s.front() <= 'z') || (s.front() >= 'A' && s.front() <= 'Z') ||
                     s.front() == '/' || s.front() == '.'))
    return false;
  for (std::string_view word : {"null", "true", "false", "yes", "no", "on", "off"}) {
    if (s == word) return false;
  }
  return std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./+").find(c) != std::string_view::npos;
  });
}

std::size_t place_of(std::string_view key) {
  return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), key) - kOrder.begin());
}

}  // namespace

std::string yaml_scalar(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20U || c == 0x7F) {
      out += '?';
    } else {
      out += c;
    }
  }
  return out + "\"";
}

void Draft::set_plain(std::string_view path, std::string value) {
  Node* at = &root_;
  for (std::string_view segment : segments_of(path)) {
    auto it =
        std::find_if(at->below.begin(), at->below.end(), [&](Node const& n) { return n.key == segment; });
    if (it == at->below.end()) {
      // What a block is comes before the rest of it.
      bool const first =
          segment == "base" || segment == "kind" || segment == "trainer" || segment == "engine";
      it = at->below.insert(first ? at->below.begin() : at->below.end(), Node{std::string(segment), "", {}});
    }
    at = &*it;
  }
  at->value = std::move(value);
  at->below.clear();
}

void Draft::set(std::string_view path, std::int64_t value) { set_plain(path, std::to_string(value)); }
void Draft::set(std::string_view path, double value) { set_plain(path, fmt::format("{:.9g}", value)); }
void Draft::set_flag(std::string_view path, bool value) { set_plain(path, value ? "true" : "false"); }
void Draft::set_text(std::string_view path, std::string_view value) { set_plain(path, yaml_scalar(value)); }

void Draft::set_list(std::string_view path, std::vector<std::string> const& values) {
  std::string out;
  for (std::string const& v : values) out += (out.empty() ? "" : ", ") + yaml_scalar(v);
  set_plain(path, "[" + out + "]");
}

bool Draft::has(std::string_view path) const {
  Node const* at = &root_;
  for (std::string_view segment : segments_of(path)) {
    auto const it =
        std::find_if(at->below.begin(), at->below.end(), [&](Node const& n) { return n.key == segment; });
    if (it == at->below.end()) return false;
    at = &*it;
  }
  return true;
}

void Draft::erase(std::string_view path) {
  Node* at = &root_;
  auto const segments = segments_of(path);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    auto const it =
        std::find_if(at->below.begin(), at->below.end(), [&](Node const& n) { return n.key == segments[i]; });
    if (it == at->below.end()) return;
    if (i + 1 == segments.size()) {
      at->below.erase(it);
      return;
    }
    at = &*it;
  }
}

std::string Draft::flow(Node const& n) {
  if (n.below.empty()) return n.value;
  if (n.below.size() == 1 && n.below.front().key == "base") return n.below.front().value;
  std::string out;
  for (Node const& b : n.below) out += (out.empty() ? "" : ", ") + b.key + ": " + flow(b);
  return "{" + out + "}";
}

void Draft::write(Node const& n, std::size_t indent, std::string& out) {
  std::string const line = fmt::format("{:{}}{}: {}\n", "", indent, n.key, flow(n));
  if (n.below.empty() || line.size() <= kWidth) {
    out += line;
    return;
  }
  out += fmt::format("{:{}}{}:\n", "", indent, n.key);
  for (Node const& b : n.below) write(b, indent + 2, out);
}

std::string Draft::text() const {
  std::vector<Node const*> blocks;
  for (Node const& n : root_.below) blocks.push_back(&n);
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](Node const* a, Node const* b) { return place_of(a->key) < place_of(b->key); });
  std::string out;
  for (Node const* n : blocks) write(*n, 0, out);
  return out;
}

}  // namespace rollcast
