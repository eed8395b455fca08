#include "models/fp8_blocks.hpp"

namespace rollcast {
namespace {

// Blocks that begin in `own`, or that are entered where the shard begins.
std::int64_t begun(IndexRange own, std::int64_t shard_first, std::int64_t block) {
  std::int64_t const starts = divide_up(own.end(), block) - divide_up(own.first, block);
  return starts + (own.first == shard_first && own.first % block != 0 ? 1 : 0);
}

// Elements of each block that one part holds, as far as it touches any.
class Touched {
 public:
  Touched(std::int64_t rows, std::int64_t columns, std::int64_t block_rows, std::int64_t block_columns)
      : rows_(rows), columns_(columns), block_rows_(block_rows), block_columns_(block_columns) {
    across_ = divide_up(columns, block_columns);
    elements_.assign(static_cast<std::size_t>(across_ * divide_up(rows, block_rows)), 0);
  }

  std::int64_t blocks() const { return static_cast<std::int64_t>(elements_.size()); }

  // Marks in `cut` every block that the part holds some of and not all.
  void find_cut(Shard const& part, std::vector<bool>& cut) {
    touched_.clear();
    for (ShardRect const& r : part.rects) {
      if (r.count() > 0) add(r);
    }
    for (std::int64_t const b : touched_) {
      auto const at = static_cast<std::size_t>(b);
      if (elements_[at] < size(b)) cut[at] = true;
      elements_[at] = 0;
    }
  }

 private:
  void add(ShardRect const& r) {
    for (std::int64_t i = r.rows.first / block_rows_; i * block_rows_ < r.rows.end(); ++i) {
      std::int64_t const rows = overlap(r.rows, {i * block_rows_, block_rows_}).count;
      for (std::int64_t j = r.columns.first / block_columns_; j * block_columns_ < r.columns.end(); ++j) {
        std::int64_t const columns = overlap(r.columns, {j * block_columns_, block_columns_}).count;
        std::int64_t& held = elements_[static_cast<std::size_t>(i * across_ + j)];
        if (held == 0) touched_.push_back(i * across_ + j);
        held += rows * columns;
      }
    }
  }

  std::int64_t size(std::int64_t block) const {
    IndexRange const rows = overlap({block / across_ * block_rows_, block_rows_}, {0, rows_});
    IndexRange const columns = overlap({block % across_ * block_columns_, block_columns_}, {0, columns_});
    return rows.count * columns.count;
  }

  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t block_rows_;
  std::int64_t block_columns_;
  std::int64_t across_ = 0;
  std::vector<std::int64_t> elements_;
  std::vector<std::int64_t> touched_;
};

}  // namespace

std::int64_t scales_in(ShardRect const& shard, IndexRange rows, IndexRange columns, Fp8Scaling scaling) {
  if (scaling == Fp8Scaling::tensor)
    return rows.first == shard.rows.first && columns.first == shard.columns.first ? 1 : 0;
  return begun(rows, shard.rows.first, kFp8Block) * begun(columns, shard.columns.first, kFp8Block);
}

BlockCount count_blocks(std::int64_t rows, std::int64_t columns, std::vector<Shard> const& parts,
                        Fp8Scaling scaling) {
  bool const tensor = scaling == Fp8Scaling::tensor;
  Touched touched(rows, columns, tensor ? rows : kFp8Block, tensor ? columns : kFp8Block);
  std::vector<bool> cut(static_cast<std::size_t>(touched.blocks()), false);
  for (Shard const& part : parts) touched.find_cut(part, cut);
  BlockCount count;
  count.blocks = touched.blocks();
  for (bool const c : cut) count.cut += c ? 1 : 0;
  return count;
}

}  // namespace rollcast
