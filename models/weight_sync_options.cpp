#include "models/weight_sync_options.hpp"

#include <stdexcept>

namespace rollcast {

std::string_view name_of(SyncMethod v) {
  switch (v) {
    case SyncMethod::automatic:
      return "automatic";
    case SyncMethod::ipc:
      return "ipc";
    case SyncMethod::tensors:
      return "tensors";
    case SyncMethod::buckets:
      return "buckets";
    case SyncMethod::point_to_point:
      return "point_to_point";
    case SyncMethod::host_memory:
      return "host_memory";
    case SyncMethod::storage:
      return "storage";
  }
  throw std::logic_error("no such SyncMethod");
}

std::string_view name_of(FanOut v) {
  switch (v) {
    case FanOut::ring:
      return "ring";
    case FanOut::serial:
      return "serial";
    case FanOut::tree:
      return "tree";
    case FanOut::chain:
      return "chain";
  }
  throw std::logic_error("no such FanOut");
}

std::string_view name_of(HostShares v) {
  switch (v) {
    case HostShares::trainer:
      return "trainer";
    case HostShares::engines:
      return "engines";
    case HostShares::elsewhere:
      return "elsewhere";
  }
  throw std::logic_error("no such HostShares");
}

std::string_view name_of(SyncTransport v) {
  switch (v) {
    case SyncTransport::nccl:
      return "nccl";
    case SyncTransport::gloo:
      return "gloo";
  }
  throw std::logic_error("no such SyncTransport");
}

}  // namespace rollcast
