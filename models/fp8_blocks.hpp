// Scales of a tensor in fp8: one per block of kFp8Block x kFp8Block elements (DeepSeek-V3's weights, section
// 3.3.2 of its report; vLLM's and SGLang's block-wise fp8), or one per tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "models/job.hpp"
#include "models/shard_rect.hpp"

namespace rollcast {

inline constexpr std::int64_t kFp8Block = 128;
inline constexpr std::int64_t kScaleBytes = 4;

// Scales that travel with a rectangle of a shard rectangle: one for each block whose first element within
// `shard` lies in it.
std::int64_t scales_in(ShardRect const& shard, IndexRange rows, IndexRange columns, Fp8Scaling scaling);

// Blocks of a rows x columns tensor, and those of them that lie in several different parts, neither of which
// has all of it.
struct BlockCount {
  std::int64_t blocks = 0;
  std::int64_t cut = 0;
};
BlockCount count_blocks(std::int64_t rows, std::int64_t columns, std::vector<Shard> const& parts,
                        Fp8Scaling scaling);

}  // namespace rollcast
