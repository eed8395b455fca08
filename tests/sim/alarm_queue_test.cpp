#include "sim/alarm_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rollcast {
namespace {

TEST(AlarmQueue, GoesByTimeThenByOrder) {
  AlarmQueue q;
  std::vector<int> order;
  int i = 0;
  for (double const t : {3.0, 1.0, 2.0, 1.0}) q.add(seconds(t), [&order, n = i++] { order.push_back(n); });
  EXPECT_FALSE(q.pop(seconds(0.5)));
  while (auto const callback = q.pop(seconds(2.5))) callback();
  EXPECT_EQ(order, (std::vector<int>{1, 3, 2}));
  EXPECT_DOUBLE_EQ(q.next()->value, 3);
}

TEST(AlarmQueue, ForgetsTheCancelled) {
  AlarmQueue q;
  auto const first = q.add(seconds(1), [] { FAIL(); });
  auto const second = q.add(seconds(2), [] {});
  auto const third = q.add(seconds(3), [] { FAIL(); });
  EXPECT_TRUE(q.cancel(third));
  EXPECT_TRUE(q.cancel(first));
  EXPECT_FALSE(q.cancel(first)) << "it is gone";
  EXPECT_DOUBLE_EQ(q.next()->value, 2);
  q.pop(seconds(9))();
  EXPECT_FALSE(q.cancel(second)) << "it has run";
  EXPECT_FALSE(q.next());
}

}  // namespace
}  // namespace rollcast
