#include "scenarios/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcast {

std::string explain(Scenario const& scenario) {
  std::size_t key_width = 3;
  std::size_t value_width = 5;
  for (Origin const& o : scenario.origins) {
    key_width = std::max(key_width, o.key.size());
    value_width = std::max(value_width, std::min<std::size_t>(o.value.size(), 24));
  }
  std::string out = fmt::format("{:<{}}  {:<{}}  {}\n", "key", key_width, "value", value_width, "from");
  for (Origin const& o : scenario.origins) {
    out += fmt::format("{:<{}}  {:<{}}  {}\n", o.key, key_width, o.value, value_width, o.from);
  }
  return out;
}

}  // namespace rollcast
