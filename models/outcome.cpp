#include "models/outcome.hpp"

#include <stdexcept>

namespace rollcast {

std::string_view name_of(Outcome o) {
  switch (o) {
    case Outcome::completed:
      return "completed";
    case Outcome::oom:
      return "oom";
    case Outcome::stalled:
      return "stalled";
    case Outcome::deadlock:
      return "deadlock";
    case Outcome::refused:
      return "refused";
    case Outcome::failed:
      return "failed";
    case Outcome::infeasible:
      return "infeasible";
  }
  throw std::logic_error("no such Outcome");
}

std::string_view name_of(OomKind k) {
  switch (k) {
    case OomKind::torch:
      return "torch";
    case OomKind::driver:
      return "driver";
    case OomKind::host:
      return "host";
  }
  throw std::logic_error("no such OomKind");
}

}  // namespace rollcast
