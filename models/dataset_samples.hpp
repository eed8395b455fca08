// Steps that train on a data set, SFT and DPO: the items of a step, their sequences, and the micro-batches
// made of them. (Samples that a rollout generates are sim/samples'.)
#pragma once

#include <cstdint>
#include <vector>

#include "models/job.hpp"
#include "models/packing.hpp"

namespace rollcast {

// What a batch size counts: one sequence of SFT (prompt + response), or one pair of DPO, two sequences
// (prompt
// + chosen, prompt + rejected) that go through the model in one forward pass.
struct DatasetItem {
  std::int64_t id = 0;  // within the step
  int prompt_tokens = 0;
  int response_tokens = 0;  // dpo: the chosen one
  int rejected_tokens = 0;  // dpo; sft: 0, no second sequence
};

// The `count` items of a step, in order of id. Lengths come from the workload and depend on seed, step and id
// alone: prompt i is drawn with key i, an SFT response too; a pair's two responses with keys 2i and 2i + 1.
// Kinds other than sft and dpo are a std::logic_error.
std::vector<DatasetItem> items_of_step(AlgorithmKind kind, Workload const& w, int count, std::uint64_t seed,
                                       int step);

// The lengths of the items' sequences, a pair's next to each other, each cut at max_tokens (0: no cut), as
// TRL's and OpenRLHF's max_length.
std::vector<int> sequence_lengths(std::vector<DatasetItem> const& items, int max_tokens);

// How sequences meet in a micro-batch:
//   pad_to_micro_batch  rows as long as its longest sequence: TRL (DataCollatorForPreference), OpenRLHF
//                       (reward_dataset.py, concatenated_inputs)
//   pad_to_batch        rows as long as the longest sequence of the optimizer step on any rank: NeMo-RL
//                       (data/collate_fn.py preference_collate_fn and algorithms/sft.py pad the whole batch;
//                       micro-batches are slices of it)
//   pad_to_maximum      rows of max_tokens: DeepSpeed-Chat (dschat/utils/data/data_utils.py)
//   concatenate         one row with all sequences behind each other, attention within each: TRL's
//                       padding_free, OpenRLHF's packing_samples
//   pack                first-fit decreasing into rows of max_tokens, micro_batch rows each (pairs are not
//                       packed: NeMo-RL refuses it, and a pair must stay together)
enum class Collation { pad_to_micro_batch, pad_to_batch, pad_to_maximum, concatenate, pack };

struct DatasetBatching {
  Collation collation = Collation::pad_to_micro_batch;
  int micro_batch = 1;  // items: a pair counts once (NeMo-RL: mbs = 2 x train_micro_batch_size sequences)
  int max_tokens = 0;   // of a sequence, cut there; of a row of pad_to_maximum and pack. 0: no cut
  int multiple_of = 1;  // a padded row, or the concatenated one, is rounded up to it
};

// The micro-batches of each data-parallel rank, given its items of one optimizer step, in their order (packs:
// as they were opened). micro_batch or multiple_of < 1, pad_to_maximum or pack without max_tokens, and pack
// with pairs are a std::logic_error.
std::vector<std::vector<MicroBatch>> make_dataset_batches(std::vector<std::vector<DatasetItem>> const& ranks,
                                                          DatasetBatching const& b);

}  // namespace rollcast
