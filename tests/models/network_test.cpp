#include "models/network.hpp"

#include <gtest/gtest.h>

#include "models/random.hpp"
#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

double left(NetworkOptions const& n, double gb_per_s = 50) {
  return left_to_collectives(n, GB_per_s(gb_per_s)).value / 1e9;
}

TEST(Network, WithoutStreamsOrApartAllIsLeft) {
  EXPECT_DOUBLE_EQ(left({}), 50);
  EXPECT_DOUBLE_EQ(left({0, GB_per_s(20), false, 0}), 50);
  EXPECT_DOUBLE_EQ(left({4, GB_per_s(20), true, 0}), 50);
}

// Four streams that want 20 of 50 together get it: 50 - 20 = 30 is more than the fair 50 / 5 = 10.
TEST(Network, StreamsThatWantLittleGetIt) { EXPECT_DOUBLE_EQ(left({4, GB_per_s(20), false, 0}), 30); }

// Streams that want 45, or 500: 50 - 45 = 5 is less than the fair share of a flow among five, 10.
TEST(Network, TheFairShareIsTheLeast) {
  EXPECT_DOUBLE_EQ(left({4, GB_per_s(45), false, 0}), 10);
  EXPECT_DOUBLE_EQ(left({4, GB_per_s(500), false, 0}), 10);
}

// A class of half of the link: 25 instead of 10; of a tenth: the fair 10 is as much; where 30 is left anyway,
// half changes nothing.
TEST(Network, AGuaranteedShareIsKept) {
  EXPECT_DOUBLE_EQ(left({4, GB_per_s(500), false, 0.5}), 25);
  EXPECT_DOUBLE_EQ(left({4, GB_per_s(500), false, 0.1}), 10);
  EXPECT_DOUBLE_EQ(left({4, GB_per_s(20), false, 0.5}), 30);
}

TEST(Network, IsBetweenTheFairShareAndAllAndMoreStreamsLeaveLess) {
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    auto const draw = [&](std::uint32_t what) { return uniform({13, Purpose::fault, what, i}); };
    NetworkOptions n{1 + static_cast<int>(64 * draw(0)), GB_per_s(100 * draw(1)), false,
                     draw(2) < 0.5 ? 0 : draw(3)};
    double const here = left(n);
    EXPECT_LE(here, 50);
    EXPECT_GE(here, 50.0 / (n.rpc_flows + 1) * (1 - 1e-12));
    NetworkOptions more = n;
    ++more.rpc_flows;
    EXPECT_LE(left(more), here);
    more = n;
    more.rpc_bandwidth = more.rpc_bandwidth * 2;
    EXPECT_LE(left(more), here);
  }
}

// The NIC of 50 GB/s on a fabric of 50 GB/s: a quarter is 12.5; on a fabric of 25 GB/s a quarter of that.
TEST(Network, ASlowerNicIsAShareOfWhatItCarried) {
  ClusterSpec c = h100_cluster(2);
  EXPECT_DOUBLE_EQ(with_slower_nics(c, 0.25).node.nic.value, 12.5e9);
  c.fabric.nic = GB_per_s(25);
  EXPECT_DOUBLE_EQ(with_slower_nics(c, 0.25).node.nic.value, 6.25e9);
  EXPECT_EQ(with_slower_nics(c, 0.25).nodes, 2);
}

}  // namespace
}  // namespace rollcast
