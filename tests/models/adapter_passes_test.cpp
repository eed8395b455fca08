#include "models/adapter_passes.hpp"

#include <gtest/gtest.h>

#include "price_fixtures.hpp"

namespace rollcast {
namespace {

TEST(AdapterPasses, ByHand) {
  // The k projection of Llama-3.1-8B: n 1024, k 4096.
  AdapterWork const fused = adapter_work(KernelStack::fused, 1024, 4096);
  EXPECT_DOUBLE_EQ(fused.forward_bytes, 6 * 1024.0);
  EXPECT_DOUBLE_EQ(fused.backward_bytes, 6 * 4096.0);
  EXPECT_EQ(fused.forward_operations, 3);
  EXPECT_EQ(fused.backward_operations, 5);
  AdapterWork const eager = adapter_work(KernelStack::eager, 1024, 4096);
  EXPECT_DOUBLE_EQ(eager.forward_bytes, 10 * 1024.0);
  EXPECT_DOUBLE_EQ(eager.backward_bytes, 6 * 4096.0 + 4 * 1024);
  EXPECT_EQ(eager.forward_operations, 4);
  EXPECT_EQ(eager.backward_operations, 6);
}

}  // namespace
}  // namespace rollcast
