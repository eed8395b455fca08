#include "models/weight_loading.hpp"

namespace rollcast {
namespace {

constexpr Seconds kMember = us(0.684);
constexpr Seconds kMapping = us(0.265);
constexpr int kDenseMembers = 19;
constexpr int kSparseMembers = 22;

}  // namespace

Seconds load_walk(Architecture const& a) {
  double members = 0;
  for (int layer = 0; layer < a.layers; ++layer)
    members += is_moe_layer(a, layer) ? kSparseMembers : kDenseMembers;
  return kMember * members + kMapping * (a.moe ? 3.0 * a.moe->experts : 0.0);
}

}  // namespace rollcast
