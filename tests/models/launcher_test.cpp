#include "models/launcher.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

LauncherOptions of(LauncherKind k) {
  LauncherOptions o;
  o.kind = k;
  return o;
}

// A Python exception ends a process of torchrun's; Ray's actor lives on, and so does one that nobody ends.
TEST(Launcher, AnExceptionEndsAProcessOfTorchrunAlone) {
  for (LauncherKind k : {LauncherKind::torchrun, LauncherKind::ray, LauncherKind::none}) {
    EXPECT_TRUE(is_gone(k, Stop::exited));
    EXPECT_EQ(is_gone(k, Stop::raised), k == LauncherKind::torchrun);
    EXPECT_FALSE(is_gone(k, Stop::hangs));
  }
}

TEST(Launcher, NobodySeesAHang) {
  for (LauncherKind k : {LauncherKind::torchrun, LauncherKind::ray, LauncherKind::none})
    EXPECT_FALSE(noticed(of(k), Stop::hangs, Seconds(5)).has_value());
}

TEST(Launcher, StopsAreSeenAfterTheNotice) {
  for (LauncherKind k : {LauncherKind::torchrun, LauncherKind::ray}) {
    for (Stop s : {Stop::exited, Stop::raised}) {
      ASSERT_TRUE(noticed(of(k), s, Seconds(5)).has_value());
      EXPECT_DOUBLE_EQ(noticed(of(k), s, Seconds(5))->value, 5.1);
    }
  }
  for (Stop s : {Stop::exited, Stop::raised})
    EXPECT_FALSE(noticed(of(LauncherKind::none), s, Seconds(5)).has_value());
}

// One node: 1 s. More: the slower of the two, 15 s unless the node itself takes longer.
TEST(Launcher, OtherNodesTakeLonger) {
  LauncherOptions o = of(LauncherKind::torchrun);
  EXPECT_DOUBLE_EQ(all_gone(o, Seconds(100), 1).value, 101);
  EXPECT_DOUBLE_EQ(all_gone(o, Seconds(100), 2).value, 115);
  o.same_node = Seconds(30);
  EXPECT_DOUBLE_EQ(all_gone(o, Seconds(100), 8).value, 130);
}

TEST(Launcher, HasNames) {
  EXPECT_EQ(name_of(LauncherKind::torchrun), "torchrun");
  EXPECT_EQ(name_of(LauncherKind::ray), "ray");
  EXPECT_EQ(name_of(LauncherKind::none), "none");
  EXPECT_EQ(name_of(Stop::exited), "exited");
  EXPECT_EQ(name_of(Stop::raised), "raised");
  EXPECT_EQ(name_of(Stop::hangs), "hangs");
}

}  // namespace
}  // namespace rollcast
