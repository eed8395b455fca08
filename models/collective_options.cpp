#include "models/collective_options.hpp"

#include <stdexcept>

namespace rollcast {

std::string_view name_of(GatherStream v) {
  switch (v) {
    case GatherStream::default_stream:
      return "default";
    case GatherStream::sender:
      return "sender";
  }
  throw std::logic_error("no such GatherStream");
}

std::string_view name_of(IssueOrder v) {
  switch (v) {
    case IssueOrder::fixed:
      return "fixed";
    case IssueOrder::random:
      return "random";
  }
  throw std::logic_error("no such IssueOrder");
}

}  // namespace rollcast
