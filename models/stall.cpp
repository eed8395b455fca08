#include "models/stall.hpp"

#include <stdexcept>

namespace rollcast {
std::string_view name_of(GroupTimer t) {
  switch (t) {
    case GroupTimer::c10d:
      return "c10d";
    case GroupTimer::rpc:
      return "rpc";
    case GroupTimer::none:
      return "none";
  }
  throw std::logic_error("no such GroupTimer");
}

std::string operation_text(StalledGroup const& g) {
  return g.sequence ? g.operation + " " + std::to_string(*g.sequence) : g.operation;
}

}  // namespace rollcast
