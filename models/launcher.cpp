#include "models/launcher.hpp"

#include <stdexcept>

namespace rollcast {

std::string_view name_of(LauncherKind k) {
  switch (k) {
    case LauncherKind::torchrun:
      return "torchrun";
    case LauncherKind::ray:
      return "ray";
    case LauncherKind::none:
      return "none";
  }
  throw std::logic_error("no such LauncherKind");
}

std::string_view name_of(Stop s) {
  switch (s) {
    case Stop::exited:
      return "exited";
    case Stop::raised:
      return "raised";
    case Stop::hangs:
      return "hangs";
  }
  throw std::logic_error("no such Stop");
}

bool is_gone(LauncherKind k, Stop s) {
  return s == Stop::exited || (s == Stop::raised && k == LauncherKind::torchrun);
}

std::optional<Seconds> noticed(LauncherOptions const& o, Stop s, Seconds at) {
  if (o.kind == LauncherKind::none || s == Stop::hangs) return std::nullopt;
  return at + o.notice;
}

Seconds all_gone(LauncherOptions const& o, Seconds seen, int nodes) {
  return seen + (nodes > 1 ? max(o.same_node, o.other_nodes) : o.same_node);
}

}  // namespace rollcast
