// Where the elements of one tensor lie in the shards of a layout: rectangles of the logical matrix, each with
// its place in what a rank stores.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace rollcast {

struct IndexRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  std::int64_t end() const { return first + count; }
  auto operator<=>(IndexRange const&) const = default;
};

// Empty (count 0) where they do not meet.
inline IndexRange overlap(IndexRange a, IndexRange b) {
  std::int64_t const first = std::max(a.first, b.first);
  return {first, std::max<std::int64_t>(0, std::min(a.end(), b.end()) - first)};
}

inline std::int64_t divide_up(std::int64_t n, std::int64_t parts) { return (n + parts - 1) / parts; }

// Part `index` of [0, n) in chunks of ceil(n / parts), as torch.chunk cuts: the last ones may be shorter or
// empty.
inline IndexRange part_of(std::int64_t n, std::int64_t parts, std::int64_t index) {
  std::int64_t const size = divide_up(n, parts);
  std::int64_t const first = std::min(n, index * size);
  return {first, std::min(n, first + size) - first};
}

// Element (r, c) of the logical matrix lies at offset + (r - rows.first) stride + (c - columns.first) of the
// stored shard, in elements.
struct ShardRect {
  IndexRange rows;
  IndexRange columns;
  std::int64_t offset = 0;
  std::int64_t stride = 0;

  std::int64_t count() const { return rows.count * columns.count; }
};

// A rectangle of its own, row by row.
inline ShardRect row_major(IndexRange rows, IndexRange columns, std::int64_t offset) {
  return {rows, columns, offset, columns.count};
}

// Several ranges of rows, each cut on its own into `parts`: part `index` of each, one after the other.
std::vector<ShardRect> cut_each(std::vector<std::int64_t> const& separate, IndexRange columns,
                                std::int64_t parts, std::int64_t index);

// Elements [own] of a matrix laid row by row, from `offset` on: the rest of a row, whole rows, the beginning
// of a row.
std::vector<ShardRect> flat_rects(ShardRect const& matrix, IndexRange own, std::int64_t offset);

// One part of a tensor and the ranks that hold it, each a copy, ascending.
struct Shard {
  std::vector<ShardRect> rects;
  std::vector<int> ranks;

  std::int64_t count() const {
    std::int64_t sum = 0;
    for (ShardRect const& r : rects) sum += r.count();
    return sum;
  }
};

// A tensor cut over the ranks of a layout. `stored`: the parameter that the offsets are in ("qkv_proj" also
// holds k_proj).
struct Shards {
  std::string stored;
  std::vector<Shard> parts;
};

}  // namespace rollcast
