// Sequences over data-parallel ranks or over micro-batches, so that each part has about the same work.
#pragma once

#include <cstdint>
#include <vector>

namespace rollcast {

// What one sequence of length l counts for:
//   tokens               l
//   tokens_times_length  l^2, attention alone
//   transformer          24576 l + l^2: FLOPs of dense layers and attention up to a factor, at hidden size
//                        4096 (verl, verl/utils/seqlen_balancing.py, calculate_workload)
enum class LoadKind { tokens, tokens_times_length, transformer };
std::vector<std::int64_t> sequence_loads(std::vector<int> const& lengths, LoadKind kind);

// equal: every part has loads.size() / parts sequences.
enum class PartSizes { any, equal };

// Indices 0 .. count - 1 in `parts` contiguous parts whose sizes differ by at most one unit, as a single
// controller splits a batch; `unit` neighbours stay together.
std::vector<std::vector<int>> contiguous_parts(int count, int parts, int unit = 1);

// Karmarkar and Karp's largest differencing method in `parts` ways, as verl's get_seqlen_balanced_partitions:
// every sequence (equal: every `parts` neighbours in order of load) starts as a partial partition of its
// own; the two with the largest spread (heaviest minus lightest part) are merged, the heaviest part of one
// with the lightest of the other, until one is left. Ties go to the larger load, then the larger count, then
// the larger first index, as there, so the parts are the same to the index. Returns the indices of each part
// in ascending order, the heaviest part first. Its spread is at most the largest load (equal: the largest
// spread among neighbours), because a merge never has a larger spread than both of its inputs.
// Parts of equal size stay uneven under a long tail, as verl's do: of 16 log-normal lengths a part (sigma
// 0.8) the heaviest part is 10 % above the mean, with any size 0.1 %. About n log n. Fewer sequences than
// parts, a count that equal parts do not divide, parts < 1 or a negative load are a std::logic_error.
std::vector<std::vector<int>> balance(std::vector<std::int64_t> const& loads, int parts, PartSizes sizes);

// A batch over data-parallel ranks as verl's trainer.balance_batch (ray_trainer.py, _balance_batch): equal
// parts of balanced load, and in each the lightest sequences at both ends, the heaviest in the middle. A
// rank takes its mini-batches as equal slices of its part, in order, so the ranks are balanced over the
// batch; within one mini-batch only as far as their sorted parts are alike. Errors as balance.
std::vector<std::vector<int>> deal_balanced(std::vector<std::int64_t> const& loads, int ranks);

}  // namespace rollcast
