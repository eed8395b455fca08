#include "models/hardware.hpp"

namespace rollcast {
namespace {

template <class Q>
bool same(Q a, Q b) {
  return !(a < b) && !(b < a);
}

}  // namespace

bool same_rates(Gpu const& a, Gpu const& b) {
  return same(a.bf16, b.bf16) && same(a.fp8, b.fp8) && same(a.memory_bandwidth, b.memory_bandwidth);
}

}  // namespace rollcast
