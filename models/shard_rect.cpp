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

}  // namespace rollcast
