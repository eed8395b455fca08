#include "models/fp8_blocks.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

Shard rows_of(std::int64_t columns, IndexRange rows) { return {{{rows, {0, columns}, 0, columns}}, {0}}; }

// 384 x 256 is 3 x 2 blocks. Two parts of 192 rows: the blocks of rows 128-255 lie in both.
TEST(Fp8Blocks, ABoundaryWithinABlockCutsARowOfBlocks) {
  BlockCount const n =
      count_blocks(384, 256, {rows_of(256, {0, 192}), rows_of(256, {192, 192})}, Fp8Scaling::block);
  EXPECT_EQ(n.blocks, 6);
  EXPECT_EQ(n.cut, 2);
  BlockCount const whole =
      count_blocks(384, 256, {rows_of(256, {0, 128}), rows_of(256, {128, 256})}, Fp8Scaling::block);
  EXPECT_EQ(whole.cut, 0);
}

// A last block that the tensor itself ends (rows 256-299) is whole.
TEST(Fp8Blocks, TheTensorsOwnEndCutsNothing) {
  BlockCount const n = count_blocks(300, 130, {rows_of(130, {0, 300})}, Fp8Scaling::block);
  EXPECT_EQ(n.blocks, 3 * 2);
  EXPECT_EQ(n.cut, 0);
}

// Two neighbours that hold the same KV head hold its block whole.
TEST(Fp8Blocks, CopiesCutNothing) {
  Shard const head = rows_of(256, {0, 128});
  EXPECT_EQ(count_blocks(128, 256, {head, head}, Fp8Scaling::block).cut, 0);
}

// A flat boundary at row 128, column 128 of 256 x 256: the block at the upper right ends before it, that at
// the lower left has its first row on one side.
TEST(Fp8Blocks, AFlatBoundaryCutsWhereItPasses) {
  Shard const first{{{{0, 128}, {0, 256}, 0, 256}, {{128, 1}, {0, 128}, 128 * 256, 128}}, {0}};
  Shard const second{{{{128, 1}, {128, 128}, 0, 128}, {{129, 127}, {0, 256}, 128, 256}}, {1}};
  BlockCount const n = count_blocks(256, 256, {first, second}, Fp8Scaling::block);
  EXPECT_EQ(n.blocks, 4);
  EXPECT_EQ(n.cut, 1);
}

TEST(Fp8Blocks, OneScaleOfATensor) {
  BlockCount const n =
      count_blocks(384, 256, {rows_of(256, {0, 128}), rows_of(256, {128, 256})}, Fp8Scaling::tensor);
  EXPECT_EQ(n.blocks, 1);
  EXPECT_EQ(n.cut, 1);
}

// A rank that holds rows 192-383 has the blocks of rows 128-255 in part and of rows 256-383: two rows of two
// scales. Those of the cut blocks come with row 192.
TEST(Fp8Blocks, ScalesComeWithTheFirstElementOfABlock) {
  ShardRect const shard{{192, 192}, {0, 256}, 0, 256};
  EXPECT_EQ(scales_in(shard, {192, 8}, {0, 256}, Fp8Scaling::block), 2);
  EXPECT_EQ(scales_in(shard, {200, 56}, {0, 256}, Fp8Scaling::block), 0);
  EXPECT_EQ(scales_in(shard, {200, 184}, {0, 256}, Fp8Scaling::block), 2);
  EXPECT_EQ(scales_in(shard, {192, 192}, {0, 256}, Fp8Scaling::tensor), 1);
  EXPECT_EQ(scales_in(shard, {200, 56}, {0, 256}, Fp8Scaling::tensor), 0);
}

}  // namespace
}  // namespace rollcast
