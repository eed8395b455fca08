#include "models/shard_rect.hpp"

namespace rollcast {

std::vector<ShardRect> cut_each(std::vector<std::int64_t> const& separate, IndexRange columns,
                                std::int64_t parts, std::int64_t index) {
  std::vector<ShardRect> rects;
  std::int64_t first = 0;
  std::int64_t offset = 0;
  for (std::int64_t const rows : separate) {
    IndexRange own = part_of(rows, parts, index);
    own.first += first;
    rects.push_back(row_major(own, columns, offset));
    offset += own.count * columns.count;
    first += rows;
  }
  return rects;
}

std::vector<ShardRect> flat_rects(ShardRect const& matrix, IndexRange own, std::int64_t offset) {
  std::vector<ShardRect> rects;
  std::int64_t const width = matrix.columns.count;
  std::int64_t at = own.first;
  while (at < own.end()) {
    std::int64_t const row = at / width;
    std::int64_t const column = at % width;
    bool const whole_rows = column == 0 && own.end() - at >= width;
    std::int64_t const rows = whole_rows ? (own.end() - at) / width : 1;
    std::int64_t const columns = whole_rows ? width : std::min(width - column, own.end() - at);
    rects.push_back({{matrix.rows.first + row, rows},
                     {matrix.columns.first + column, columns},
                     offset + at - own.first,
                     columns});
    at += rows * columns;
  }
  return rects;
}

}  // namespace rollcast
