// What each model_type of a Hugging Face config.json says about the architecture: which keys it has, their
// defaults, and what it does without saying so.
#pragma once

#include <string_view>
#include <vector>

#include "models/architecture.hpp"
#include "scenarios/text/hf_keys.hpp"

namespace rollcast {

struct HfFamily {
  std::string_view model_type;
  std::string_view family;  // Architecture::family
  // Fills everything but name, family and sources; what does not fit becomes a problem of the keys.
  void (*read)(HfKeys&, Architecture&);
};

// nullptr for a model type that is not understood.
HfFamily const* find_hf_family(std::string_view model_type);

// Those that are understood, without the _text ones that only stand inside a vision model's file.
std::vector<std::string_view> hf_model_types();

}  // namespace rollcast
