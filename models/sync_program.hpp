// The collectives of one weight sync from a fully sharded trainer to engines on other GPUs, as programs for
// models/collective_order.hpp.
//
// The weights travel in buckets of 1 GiB (vLLM vllm/distributed/weight_transfer/packed_tensor.py,
// DEFAULT_PACKED_BUFFER_SIZE_BYTES). For each of them all trainer ranks take part in gathers (full_tensor()
// of its tensors, one collective here), and trainer rank 0 broadcasts it in a group with all engine ranks.
// Rank 0 gathers when the sender asks for the next tensor; the other ranks gather everything as fast as they
// can issue it (TRL's AsyncGRPO, huggingface/trl pull request 6798 and issue 7103).
//   sender          rank 0's gathers are on the sender's stream, behind the broadcasts before them
//   default_stream  rank 0's gathers are on its default stream and done before their broadcast begins (the
//                   fix of pull request 6798)
//
// Told there: with `sender` two trainer ranks work (tp2 x 2); four, six (and in issue 7103 sixteen) stop for
// ever in the first sync, a gather enqueued and never started. Not told: why. The order of rank 0 alone does
// not make it: it is the only member of both groups, and every other rank issues in rank 0's order, so that
// by NCCL's own rule nothing waits in a circle.
//
// Assumed for the missing part is what RLinf/RLinf issue 1539 and pull request 1540 found in the same
// program:
//   - the broadcast cannot get through on GPUs where a gather spins that waits for rank 0: here every other
//     trainer rank has to let a broadcast pass before the gathers that it has issued behind it;
//   - with two ranks the source never falls a bucket behind, so that its peer does not run ahead; with more
//     they run ahead.
// The bound between two and three ranks is thus put in as reported, not derived. In RLinf the GPUs are those
// of receivers in the trainer's place; that TRL's servers, on GPUs of their own, are kept out in a like way
// is the assumption.
#pragma once

#include "models/collective_options.hpp"
#include "models/collective_order.hpp"

namespace rollcast {

struct SyncCollectives {
  int trainer_ranks = 1;
  int engine_ranks = 1;
  int buckets = 1;
  GatherStream stream = GatherStream::default_stream;
  Seconds gather;  // of one bucket
  Seconds send;    // of one bucket
};

int sync_buckets(Bytes weights);

// Ranks: the trainer's, then the engines'. Communicators: the trainer's, the weight transfer's.
CollectivePrograms sync_programs(SyncCollectives const& s);

}  // namespace rollcast
