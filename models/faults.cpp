#include "models/faults.hpp"

#include <stdexcept>

namespace rollcast {

std::string_view name_of(FaultKind k) {
  switch (k) {
    case FaultKind::kill:
      return "kill";
    case FaultKind::raise:
      return "raise";
    case FaultKind::hang:
      return "hang";
    case FaultKind::skip:
      return "skip";
    case FaultKind::desync:
      return "desync";
    case FaultKind::slow:
      return "slow";
    case FaultKind::link:
      return "link";
    case FaultKind::server:
      return "server";
    case FaultKind::leak:
      return "leak";
  }
  throw std::logic_error("no such FaultKind");
}

}  // namespace rollcast
