#include "reports/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/text_layout.hpp"

namespace rollcast {

std::string explanation_text(std::vector<Origin> const& origins) {
  constexpr std::size_t kWidestColumn = 56;
  std::size_t widest = 0;
  for (Origin const& o : origins) widest = std::max(widest, o.key.size() + 3 + o.value.size());
  widest = std::min(widest, kWidestColumn);
  std::string out;
  for (Origin const& o : origins)
    out += fmt::format("{:<{}}  # {}\n", printable(o.key + " = " + o.value), widest, printable(o.from));
  return out;
}

}  // namespace rollcast
