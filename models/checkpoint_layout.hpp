// Which part of each tensor a rank holds or saves, as blocks, and which saved shards the ranks of another
// layout read.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "models/job.hpp"

namespace rollcast {

// Rows [row, row_end) by columns [column, column_end) of a tensor of the model, by its number.
struct Block {
  int tensor = 0;
  std::int64_t row = 0;
  std::int64_t row_end = 0;
  std::int64_t column = 0;
  std::int64_t column_end = 0;

  std::int64_t rows() const { return row_end - row; }
  std::int64_t columns() const { return column_end - column; }
  std::int64_t elements() const { return rows() * columns(); }
  auto operator<=>(Block const&) const = default;
};

using RankBlocks = std::vector<Block>;
using Layout = std::vector<RankBlocks>;  // by rank

std::int64_t elements_of(RankBlocks const& blocks);

// Every tensor whole: embedding, layers in order, final norm and head; an expert's matrix is one of its own.
RankBlocks whole_model(Architecture const& a);

// Tensors cut over dim 0 as FSDP2 does (torch.chunk): every rank ceil(rows / ranks) rows, the last ones less
// or none.
Layout row_shards(RankBlocks const& tensors, int ranks);

// Part `part` of `parts` equal ones of the blocks' elements laid end to end, row by row: ZeRO's flat buffer,
// Megatron's distributed optimizer. Elements [part x n / parts, (part + 1) x n / parts), rounded down.
RankBlocks flat_part(RankBlocks const& blocks, int part, int parts);

// What tensor and expert parallelism leave a rank of a pipeline stage: blocks of rows or columns, k and v by
// whole heads (beyond their number copies), whole experts cut in turn by etp. index: of the rank in its
// stage, tp innermost. A stage beyond the pipeline is a std::logic_error.
RankBlocks megatron_blocks(Job const& job, int stage, int index);

// Weights, or what the optimizer keeps (master weights and states, one block structure for all).
enum class SavedState { weights, optimizer };

// What each rank of the trainer's pool holds and so loads: FSDP2 row shards; DeepSpeed by its ZeRO stage the
// whole, or flat parts (from stage 3 on of each tensor); Megatron its blocks, of the optimizer with the
// distributed one a flat part of them, without the last stage's copy of a tied embedding.
// Ranks in Megatron's order: tp, cp, data, pipeline.
Layout held_layout(Job const& job, SavedState state);
// What each saves: of a block that several ranks hold each writes an equal flat part.
Layout saved_layout(Layout const& held);

struct ShardRead {
  int rank = 0;  // whose saved shard
  Bytes bytes;
};
using LoadPlan = std::vector<std::vector<ShardRead>>;  // of each new rank, by saved rank ascending

// Every new rank reads exactly what it needs, from the shards that hold it. Four ranks' row shards to two:
// each reads two shards, all of them; two to four: each half of one. What no shard holds or two hold is a
// std::logic_error.
LoadPlan load_plan(Layout const& saved, Layout const& needed, Bytes per_element);

}  // namespace rollcast
