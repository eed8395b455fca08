// The keys of one Hugging Face config.json: read by name, with what does not fit as problems at their place.
// A key that is null counts as absent. Every key that was asked for is remembered, so that those which nobody
// asked for and which give a shape can be refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/problem.hpp"
#include "scenarios/text/document.hpp"

namespace rollcast {

inline constexpr double kMostInHfConfig = 1e9;  // of any whole number

class HfKeys {
 public:
  // outer: the whole file, where `map` is its text_config; else the same map. All three and the problems must
  // outlive this.
  HfKeys(Document const& document, Value const& outer, Value const& map, std::vector<Problem>& problems)
      : document_(document), outer_(outer), map_(map), problems_(problems) {}

  Entry const* entry(std::string_view key);  // nullptr when absent
  int integer(std::string_view key, int fallback);
  int required(std::string_view key);  // an integer; 0 and a problem when absent
  bool flag(std::string_view key, bool fallback);
  std::string text(std::string_view key);  // empty when absent
  // tie_word_embeddings, of the file as a whole before that of the map.
  bool tied(bool fallback);

  // A problem when the key is there with another value than the one that is understood.
  void only(std::string_view key, int allowed, std::string_view why);
  void only(std::string_view key, bool allowed, std::string_view why);
  void problem(Entry const& e, std::string what, std::string remedy);
  // A problem for each key that gives a shape and that nothing has read.
  void refuse_other_shapes(std::string_view model_type);

  static std::string inline_remedy();

 private:
  Document const& document_;
  Value const& outer_;
  Value const& map_;
  std::vector<Problem>& problems_;
  std::vector<std::string> read_;
};

}  // namespace rollcast
