#include "models/serve_options.hpp"

#include <stdexcept>

namespace rollcast {

std::string_view name_of(ArrivalKind v) {
  switch (v) {
    case ArrivalKind::poisson:
      return "poisson";
    case ArrivalKind::bursts:
      return "bursts";
    case ArrivalKind::trace:
      return "trace";
    case ArrivalKind::closed:
      return "closed";
  }
  throw std::logic_error("no such ArrivalKind");
}

std::string_view name_of(Popularity v) {
  switch (v) {
    case Popularity::uniform:
      return "uniform";
    case Popularity::zipf:
      return "zipf";
    case Popularity::identical:
      return "identical";
    case Popularity::distinct:
      return "distinct";
  }
  throw std::logic_error("no such Popularity");
}

std::string_view name_of(AdapterExecution v) {
  switch (v) {
    case AdapterExecution::none:
      return "none";
    case AdapterExecution::batched:
      return "batched";
    case AdapterExecution::split:
      return "split";
    case AdapterExecution::merged:
      return "merged";
    case AdapterExecution::deployments:
      return "deployments";
  }
  throw std::logic_error("no such AdapterExecution");
}

std::string_view name_of(AdapterPool v) { return v == AdapterPool::fixed ? "fixed" : "unified"; }

std::string_view name_of(AdapterEviction v) { return v == AdapterEviction::lru ? "lru" : "popularity"; }

std::string_view name_of(AdapterLoading v) {
  return v == AdapterLoading::blocking ? "blocking" : "overlapped";
}

std::string_view name_of(AdapterStorage v) { return v == AdapterStorage::local ? "local" : "shared"; }

std::string_view name_of(ServeOrder v) {
  switch (v) {
    case ServeOrder::first_come:
      return "first_come";
    case ServeOrder::grouped:
      return "grouped";
    case ServeOrder::fair:
      return "fair";
  }
  throw std::logic_error("no such ServeOrder");
}

}  // namespace rollcast
