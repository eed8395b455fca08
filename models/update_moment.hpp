// The moment of an update at which a rank holds most, and what it holds then beside weights and optimizer
// states.
//
// Four moments follow one another from the last micro-batch's pass on; the ledger's lines are those of the
// largest:
//   loss         what every layer keeps (x micro-batches in flight), the head's inputs, the logits
//   last layer   logits gone; what every layer keeps, the working set of one layer's backward: what it
//                recomputes and the gradients of activations
//   first layer  what one layer keeps and the working set; parameter gradients complete
//   step         activations and the buffers of the passes gone; the optimizer's own buffers
//                (models/update_buffers.hpp). Not with optimizer_in_backward.
// Parameter gradients are all there throughout where they are accumulated: over several micro-batches, or in
// a buffer of the trainer's own (Megatron, DeepSpeed, buckets of DDP over several GPUs). Otherwise they come
// as the layers go back: at the first two moments only lm_head's is there (PyTorch's zero_grad sets gradients
// to None). With optimizer_in_backward there is never more than one parameter's (FSDP2: one layer's shard).
// A gradient that is added to one that is there is made beside it first: in plain loops (ddp) that of the
// largest matrix where gradients accumulate, of lm_head where its product goes by chunks of the rows (chunked
// loss).
#pragma once

#include <optional>
#include <string_view>

#include "models/job.hpp"
#include "models/roles.hpp"
#include "models/sharding.hpp"

namespace rollcast {

enum class Moment { loss, last_layer, first_layer, step };
std::string_view name_of(Moment m);

struct UpdateMoment {
  Moment moment = Moment::loss;
  Bytes kept;                      // by the layers for their backward passes, on the GPU
  Bytes kept_on_host;              // the same, copied out (offload.activations)
  Bytes head_inputs;               // of the final norm and lm_head
  Bytes recomputed;                // by full recomputation of the largest layer
  Bytes activation_gradients;      // of the largest layer
  Bytes weight_gradient;           // one matrix's, before it is added to what is there
  bool logits = false;             // whether they are there
  double gradient_parameters = 0;  // trained parameters whose gradients this rank holds
};

// Whether autograd makes the parameter gradients one by one, in place of a buffer of the trainer's own.
bool gradients_by_autograd(Job const& job);
// Whether the gradients of an optimizer step come to be in its only backward pass.
bool gradients_come_fresh(Job const& job);

// tokens: of one rank's micro-batch. parameters: trained ones whose gradients the rank holds when all are
// there; head: those of lm_head among them; one: of one parameter or FSDP2 layer; these after ZeRO's cut.
struct GradientCounts {
  double all = 0;
  double head = 0;
  double one = 0;
  double matrix = 0;      // the largest single one of a layer, before the cut
  double whole_head = 0;  // lm_head's, before the cut
};
UpdateMoment largest_moment(Job const& job, ModelRole const& r, int stage, double tokens,
                            GradientCounts const& g);

// Counts of a role's gradients on a rank of a stage: adapters' where there is one, cut by ZeRO 2 and 3.
GradientCounts gradient_counts(Job const& job, ModelRole const& r, int stage);

}  // namespace rollcast
