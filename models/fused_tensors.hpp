// Which tensors of a checkpoint lie in one parameter of Megatron and of the engines: q, k and v; gate and up.
#pragma once

#include <cstdint>
#include <string>

#include "models/architecture.hpp"
#include "models/sync_tensors.hpp"

namespace rollcast {

enum class FusedPart { none, q, k, v, gate, up };

// none for an adapter's factors, MLPs without a gate and the projections of latent attention.
FusedPart fused_part(Architecture const& a, SyncTensor const& t);
inline bool is_qkv(FusedPart p) { return p == FusedPart::q || p == FusedPart::k || p == FusedPart::v; }

// "self_attn.q_proj.weight" with q_proj replaced by `fused`.
std::string renamed(std::string const& tensor, std::string const& fused);

// Rows of one query head and of one key or value head. With an output gate (Architecture::gated_attention) a
// query head has its gate's rows beside it.
struct HeadRows {
  std::int64_t q = 0;
  std::int64_t kv = 0;
};
HeadRows head_rows(Architecture const& a);

// Ranges of rows that tensor parallelism cuts each on its own: key, key and value of linear attention's
// in_proj_qkv and conv1d; else one.
std::vector<std::int64_t> separate_rows(Architecture const& a, SyncTensor const& t);

}  // namespace rollcast
