#include "calibrate/bench/device/arena.hpp"

#include "calibrate/bench/rotation.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kAlignment = 256;

}  // namespace

Arena::Arena(std::vector<std::size_t> const& sizes, Device const& device) {
  for (std::size_t const size : sizes) {
    offsets_.push_back(set_);
    set_ += (size + kAlignment - 1) / kAlignment * kAlignment;
  }
  sets_ = rotating_sets(bytes(static_cast<double>(set_)), device.l2, free_memory());
  if (sets_ > 0) memory_ = DeviceBuffer(set_ * static_cast<std::size_t>(sets_));
}

}  // namespace rollcast
