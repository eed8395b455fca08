#include "models/units.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace rollcast {
namespace {

TEST(Units, ExponentsAddAndCancel) {
  static_assert(std::is_same_v<decltype(bytes(1) / GB_per_s(1)), Seconds>);
  static_assert(std::is_same_v<decltype(GB_per_s(1) * seconds(1)), Bytes>);
  static_assert(std::is_same_v<decltype(Flops(1) / TFLOPs(1)), Seconds>);
  static_assert(std::is_same_v<decltype(bytes(1) / bytes(1)), double>);
  static_assert(!std::is_convertible_v<double, Seconds>);
  static_assert(!std::is_convertible_v<Seconds, double>);
  EXPECT_DOUBLE_EQ((GB(100) / GB_per_s(50)).value, 2);
}

// GB is 1e9, GiB is 2^30 = 1,073,741,824, Gb is bits: 400 Gb/s = 50e9 B/s.
TEST(Units, GigaIsDecimalGibiIsBinaryGbIsBits) {
  EXPECT_DOUBLE_EQ(GB(1).value, 1e9);
  EXPECT_DOUBLE_EQ(GiB(1).value, 1073741824.0);
  EXPECT_DOUBLE_EQ(Gb_per_s(400).value, 50e9);
  EXPECT_DOUBLE_EQ(parse_quantity<BytesPerSecond>("400 Gb/s").value->value, 50e9);
  EXPECT_DOUBLE_EQ(parse_quantity<BytesPerSecond>("50 GB/s").value->value, 50e9);
  EXPECT_DOUBLE_EQ(parse_quantity<Bytes>("80 GiB").value->value, 80 * 1073741824.0);
  EXPECT_DOUBLE_EQ(parse_quantity<Bytes>("80GB").value->value, 80e9);
  EXPECT_DOUBLE_EQ(parse_quantity<Seconds>(" 10 min ").value->value, 600);
  EXPECT_DOUBLE_EQ(parse_quantity<Seconds>("1.5e2 ms").value->value, 0.15);
  EXPECT_DOUBLE_EQ(parse_quantity<FlopsPerSecond>("989 TFLOP/s").value->value, 989e12);
}

TEST(Units, ABareNumberIsRefusedWithThePossibleUnits) {
  auto const bare = parse_quantity<Bytes>("80");
  EXPECT_FALSE(bare.value.has_value());
  EXPECT_NE(bare.error.find("GiB"), std::string::npos) << bare.error;
  for (char const* text :
       {"", "GiB", "80 XB", "80 s", "nan GiB", "inf GiB", "1e400 GiB", "80 GiB GiB", "0x10 GiB"}) {
    auto const parsed = parse_quantity<Bytes>(text);
    EXPECT_FALSE(parsed.value.has_value()) << text;
    EXPECT_FALSE(parsed.error.empty()) << text;
  }
}

TEST(Units, ExactTextReadsBack) {
  for (double v : {0.1, 1e-9, 123456789.123456789, 79.15 * 1073741824.0, 3.35e12}) {
    EXPECT_EQ(parse_quantity<Bytes>(exact_text(bytes(v))).value->value, v);
    EXPECT_EQ(parse_quantity<Seconds>(exact_text(seconds(v))).value->value, v);
    EXPECT_EQ(parse_quantity<BytesPerSecond>(exact_text(BytesPerSecond(v))).value->value, v);
    EXPECT_EQ(parse_quantity<FlopsPerSecond>(exact_text(FlopsPerSecond(v))).value->value, v);
  }
}

TEST(Units, TextForPeople) {
  EXPECT_EQ(format(GiB(79.15)), "79.2 GiB");
  EXPECT_EQ(format(GiB(128)), "128 GiB");
  EXPECT_EQ(format(MiB(1.5)), "1.50 MiB");
  EXPECT_EQ(format(bytes(512)), "512 B");
  EXPECT_EQ(format(seconds(92.8)), "92.8 s");
  EXPECT_EQ(format(ms(7.5)), "7.50 ms");
  EXPECT_EQ(format(us(15.5)), "15.5 us");
  EXPECT_EQ(format(seconds(7260)), "2.02 h");
  EXPECT_EQ(format(seconds(0)), "0 s");
  EXPECT_EQ(format(GB_per_s(450)), "450 GB/s");
  EXPECT_EQ(format(TB_per_s(3.35)), "3.35 TB/s");
  EXPECT_EQ(format(TFLOPs(989)), "989 TFLOP/s");
}

}  // namespace
}  // namespace rollcast
