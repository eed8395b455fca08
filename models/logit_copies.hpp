// Copies of a micro-batch's logits: those of the loss on log-probabilities, and the entropy's.
#pragma once

#include <optional>

#include "models/architecture.hpp"
#include "models/job.hpp"
#include "models/roles.hpp"

namespace rollcast {

// Logits of one token at the peak of the loss: entries of one rank, how often in the weights' type and in
// fp32.
//   Megatron                 1 + fp32 2: the cast, and the softmax that turns into the gradient in place
//                            (core/tensor_parallel/cross_entropy.py)
//   whole, fp32              1 + fp32 4: cast, shifted clone, log-softmax, gradient (Transformers' causal
//   loss);
//                            forward alone 2: cast, log-softmax
//   the same, labels shifted fp32 3: cast (the product's output is gone), log-softmax, gradient (torchtune
//                            transformer.py, full_finetune_single_device.py); compiled 1 + fp32 2: no
//                            log-softmax of its own, the gradient cast back
//   whole, autocast          2 + fp32 2: logits and shifted clone; cast and log-softmax (forward alone 1 + 2)
//   whole, weights           4: logits, shifted clone, log-softmax, gradient (forward alone 2)
//   chunked, fused           1
//   linear                   of as many entries as the model is wide, since rows are taken so many at a time
//   that
//                            the chunk is as large as the hidden states (Liger's rule): 1, and with kernels
//                            that are not fused as many fp32 copies as whole logits have
struct LogitsKept {
  double entries = 0;
  int copies = 1;
  int fp32_copies = 0;
};
// adapter: of a base whose other weights are fp32 (PEFT's prepare_model_for_kbit_training) the product's
// result is cast and gone (transformers models/llama: logits = logits.float()), and whole fp32 logits are
// 0 + fp32 4, forward alone 2.
LogitsKept logits_kept(Architecture const& a, TrainerOptions const& t, std::optional<Adapter> const& adapter,
                       bool backward);
Bytes logits_bytes(LogitsKept const& k, TrainerOptions const& t);  // in the weights' type
Bytes fp32_logits_bytes(LogitsKept const& k);

// Entropy of the distribution over the vocabulary, beside the logits: the fp32 probabilities, and the cast
// and the exponentials of the sum that normalises them, or the product of both, at once three fp32 tensors of
// its rows (verl utils/torch_functional.py, entropy_from_logits under torch.autocast: softmax, logsumexp; TRL
// trainer/utils.py, entropy_from_logits: log-softmax, exp, product). In chunks only entropy_rows tokens at a
// time (verl 2,048, TRL 128: with a vocabulary of 151,936 entries 0.23 GB). Of the actor's forward passes
// after a batch is generated; of its update with entropy_in_update, without gradients.
// It comes after the log-probabilities: in a forward pass alone their copies are gone, except the logits.
struct EntropyCopies {
  int copies = 0;   // 0: none
  double rows = 0;  // tokens at a time at most
  Bytes per_token;  // of each copy
  Bytes before;     // per token, what the log-probabilities leave behind of fp32_logits_bytes
};
EntropyCopies entropy_copies(Architecture const& a, TrainerOptions const& t,
                             std::optional<Adapter> const& adapter, Role role, bool backward);

}  // namespace rollcast
