#include "models/checkpoint_options.hpp"

#include <stdexcept>

namespace rollcast {

std::string_view name_of(CheckpointMode v) {
  switch (v) {
    case CheckpointMode::sync:
      return "sync";
    case CheckpointMode::async:
      return "async";
  }
  throw std::logic_error("no such CheckpointMode");
}

std::string_view name_of(CheckpointStorage v) {
  switch (v) {
    case CheckpointStorage::shared:
      return "shared";
    case CheckpointStorage::local:
      return "local";
  }
  throw std::logic_error("no such CheckpointStorage");
}

std::string_view name_of(CheckpointFormat v) {
  switch (v) {
    case CheckpointFormat::sharded:
      return "sharded";
    case CheckpointFormat::gathered:
      return "gathered";
  }
  throw std::logic_error("no such CheckpointFormat");
}

}  // namespace rollcast
