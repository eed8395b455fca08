// Which parameters one rank holds, counted from the tensor lists: tensor, pipeline and expert parallelism.
// What data parallelism cuts further is state_bytes.hpp's business.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/architecture.hpp"
#include "models/job.hpp"
#include "models/training.hpp"

namespace rollcast {

// What stands on top of the trunk: lm_head, or one value per token (critic and reward model: [1, hidden]).
enum class Head { vocabulary, scalar };

// Elements of a tensor on one rank: the cut side divided by tp, rounded up; k and v by whole heads, at least
// one per rank; experts divided by ep and their matrices by etp; replicated tensors whole.
std::int64_t shard_count(Tensor const& t, Architecture const& a, Parallel const& p);

// Elements of an adapter's pair A [rank, in], B [out, rank] on one of the `cut` ranks that share the matrix
// of a layer, one copy of it. The pair follows its matrix: the factor on the cut side is cut, B of q, k, v,
// gate, up along `out` and A of o, down along `in`; the other one is whole, or with both_cut (vLLM's
// fully_sharded_loras) cut too, A of the first kind along `rank` and B of the second along `out`.
std::int64_t adapter_shard(Tensor const& t, Architecture const& a, int rank, int cut, bool both_cut = false);

// Tensors of one pipeline stage. The first stage holds embedding and positions, the last final norm and head.
// With tied embeddings and more than one stage the last stage holds its own copy of the embedding as its
// head.
std::vector<Tensor> outer_tensors(Architecture const& a, Stage const& s, Head head);

// Parameters on one rank of a stage. Experts apart: they have a data-parallel group of their own.
struct RankParameters {
  double dense = 0;
  double experts = 0;
  double quantized_dense = 0;  // of dense, kept in 4 bits
  double quantized_experts = 0;
  double adapter_dense = 0;
  double adapter_experts = 0;
  double largest_layer = 0;      // of the stage
  double largest_matrix = 0;     // single tensor of a layer, one expert's
  double largest_quantized = 0;  // single tensor
  double largest_quantized_layer = 0;
  double outer = 0;  // embedding, final norm, head; part of dense
  double largest_outer = 0;

  double total() const { return dense + experts; }
};
RankParameters rank_parameters(Architecture const& a, Stage const& s, Head head, Parallel const& p,
                               std::optional<Adapter> const& adapter);

// Ranks over which ZeRO cuts dense and expert parameters: all that share them, context-parallel ranks
// included (Megatron's and FSDP's shard group): cp x dp, and tp x cp x dp / (etp x ep) of the experts.
int shard_ranks(Job const& job);
int expert_shard_ranks(Job const& job);

}  // namespace rollcast
