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

int pool_of_cause(Stall const& s) {
  if (!s.missing.empty()) return s.missing.front().pool;
  return s.waiting.empty() ? 0 : s.waiting.front().pool;
}

std::string operation_text(StalledGroup const& g) {
  return g.sequence ? g.operation + " " + std::to_string(*g.sequence) : g.operation;
}

}  // namespace rollcast
