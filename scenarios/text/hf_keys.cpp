#include "scenarios/text/hf_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/text/fields.hpp"

namespace rollcast {
namespace {

bool gives_shape(Entry const& e) {
  constexpr std::array<std::string_view, 11> words{"_size",  "_dim", "dim_",    "heads",  "layers", "rank",
                                                   "expert", "ffn_", "d_model", "n_embd", "n_inner"};
  constexpr std::array<std::string_view, 14> harmless{"max_window_layers",
                                                      "chunk_size_feed_forward",
                                                      "type_vocab_size",
                                                      "ep_size",
                                                      "no_repeat_ngram_size",
                                                      "encoder_no_repeat_ngram_size",
                                                      "sliding_window_size",
                                                      "window_size",
                                                      "num_experts_per_group",
                                                      "num_expert_group",
                                                      "rotary_dim",
                                                      "rope_dim",
                                                      "original_vocab_size",
                                                      "onnx_opset_layers"};
  if (std::find(harmless.begin(), harmless.end(), e.key) != harmless.end()) return false;
  bool const named = std::any_of(words.begin(), words.end(),
                                 [&](std::string_view w) { return e.key.find(w) != std::string::npos; });
  if (!named) return false;
  if (e.value.kind == ValueKind::list) return !e.value.items.empty();
  if (e.value.kind != ValueKind::scalar) return false;
  NumberText const n = parse_number(e.value);
  return n.ok && n.value > 0;
}

}  // namespace

Entry const* HfKeys::entry(std::string_view key) {
  read_.emplace_back(key);
  Entry const* e = find(map_, key);
  return e == nullptr || e->value.kind == ValueKind::null ? nullptr : e;
}

int HfKeys::integer(std::string_view key, int fallback) {
  Entry const* e = entry(key);
  if (e == nullptr) return fallback;
  NumberText const n = e->value.kind == ValueKind::scalar ? parse_whole_number(e->value)
                                                          : NumberText{false, 0, "not a single number"};
  if (n.ok && n.value >= 0 && n.value <= kMostInHfConfig) return static_cast<int>(n.value);
  problem(*e, n.ok ? fmt::format("{} is out of range", shown(e->value.text)) : n.error,
          "write a whole number, at most 1000000000");
  return fallback;
}

int HfKeys::required(std::string_view key) {
  if (entry(key) == nullptr) {
    problems_.push_back(problem_at(document_, map_.mark, std::string(key), "is missing",
                                   "write it as the maker's config.json does"));
    return 0;
  }
  return integer(key, 0);
}

bool HfKeys::flag(std::string_view key, bool fallback) {
  Entry const* e = entry(key);
  if (e == nullptr) return fallback;
  if (e->value.text == "true") return true;
  if (e->value.text != "false") problem(*e, "neither true nor false", "write true or false");
  return false;
}

std::string HfKeys::text(std::string_view key) {
  Entry const* e = entry(key);
  return e == nullptr ? std::string() : e->value.text;
}

// The file as a whole decides for vision models: their text_config may carry a default of no meaning.
bool HfKeys::tied(bool fallback) {
  HfKeys whole(document_, outer_, outer_, problems_);
  return whole.flag("tie_word_embeddings", flag("tie_word_embeddings", fallback));
}

void HfKeys::only(std::string_view key, int allowed, std::string_view why) {
  Entry const* e = entry(key);
  if (e != nullptr && integer(key, allowed) != allowed) problem(*e, std::string(why), inline_remedy());
}

void HfKeys::only(std::string_view key, bool allowed, std::string_view why) {
  Entry const* e = entry(key);
  if (e != nullptr && flag(key, allowed) != allowed) problem(*e, std::string(why), inline_remedy());
}

void HfKeys::problem(Entry const& e, std::string what, std::string remedy) {
  problems_.push_back(problem_at(document_, e.mark, shown(e.key), std::move(what), std::move(remedy)));
}

void HfKeys::refuse_other_shapes(std::string_view model_type) {
  for (Entry const& e : map_.entries) {
    if (std::find(read_.begin(), read_.end(), e.key) != read_.end() || !gives_shape(e)) continue;
    problem(e, fmt::format("gives a shape that a {} model does not have here", model_type), inline_remedy());
  }
}

std::string HfKeys::inline_remedy() {
  return "write the model inline instead, model: {layers: ..., hidden: ..., ...}, if its shapes can be "
         "said so";
}

}  // namespace rollcast
