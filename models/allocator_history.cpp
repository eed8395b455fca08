#include "models/allocator_history.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rollcast {
namespace {

constexpr std::array<std::pair<AllocatorAction, std::string_view>, 9> kNames{{
    {AllocatorAction::alloc, "alloc"},
    {AllocatorAction::free_requested, "free_requested"},
    {AllocatorAction::free_completed, "free_completed"},
    {AllocatorAction::segment_alloc, "segment_alloc"},
    {AllocatorAction::segment_free, "segment_free"},
    {AllocatorAction::segment_map, "segment_map"},
    {AllocatorAction::segment_unmap, "segment_unmap"},
    {AllocatorAction::oom, "oom"},
    {AllocatorAction::snapshot, "snapshot"},
}};

}  // namespace

std::string_view name_of(AllocatorAction a) {
  auto const* found = std::find_if(kNames.begin(), kNames.end(), [a](auto const& n) { return n.first == a; });
  return found->second;
}

std::optional<AllocatorAction> allocator_action(std::string_view name) {
  auto const* found =
      std::find_if(kNames.begin(), kNames.end(), [name](auto const& n) { return n.second == name; });
  if (found == kNames.end()) return std::nullopt;
  return found->first;
}

}  // namespace rollcast
