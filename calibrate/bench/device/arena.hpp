// The rotating buffers of one operation, cut out of one allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "calibrate/bench/device/device.hpp"

namespace rollcast {

// `sizes`: bytes of the buffers of a set, each aligned to 256. As many sets as rotating_sets says of the
// device's L2 and free memory; 0 when not even one fits: nothing is allocated then.
class Arena {
 public:
  Arena(std::vector<std::size_t> const& sizes, Device const& device);

  int sets() const { return sets_; }
  void* at(int set, std::size_t buffer) const {
    return memory_.data() + static_cast<std::size_t>(set) * set_ + offsets_[buffer];
  }
  std::uint16_t* bf16(int set, std::size_t buffer) const {
    return static_cast<std::uint16_t*>(at(set, buffer));
  }
  float* fp32(int set, std::size_t buffer) const { return static_cast<float*>(at(set, buffer)); }

 private:
  std::vector<std::size_t> offsets_;
  std::size_t set_ = 0;  // bytes
  int sets_ = 0;
  DeviceBuffer memory_;
};

}  // namespace rollcast
