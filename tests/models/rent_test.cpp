#include "models/rent.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

Pool pool(int gpus, double dollars) {
  Pool p;
  p.cluster.node.gpus = gpus;
  p.cluster.node.gpu.dollars_per_hour = dollars;
  return p;
}

// 8 x 2.5 + 4 x 1 = 24.
TEST(Rent, AddsThePools) {
  Job job;
  job.pools = {pool(8, 2.5), pool(4, 1)};
  EXPECT_DOUBLE_EQ(dollars_per_hour(job).value(), 24);
}

TEST(Rent, OfAGpuWithoutAPriceIsNotKnown) {
  Job job;
  job.pools = {pool(8, 2.5), pool(4, 0)};
  EXPECT_FALSE(dollars_per_hour(job));
}

}  // namespace
}  // namespace rollcast
