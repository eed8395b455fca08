// Which measured rows a fit may see. The rule is fixed: it depends on shapes alone, never on times.
//
//   gemm               held out: whole (n, k) pairs, hash("gemm|<n>|<k>") % 5 == 0
//   moe                held out: hash("moe|<hidden>|<intermediate>|<experts>|<top_k>|<tp>|<ep>") % 5 == 0
//   attention_decode   held out: every other context; and apart from that interior head configurations with
//                      hash("heads|<heads>|<kv_heads>|<head_dim>") % 5 == 0
//   attention_prefill  the same with lengths
//   attention_backward held out: every other length
//   memory_pass        held out: whole token counts, hash("memory_pass|<tokens>") % 5 == 0; and all rows of a
//                      width that is neither the narrowest nor the widest of its table with
//                      hash("memory_pass|<variant>|<width>") % 5 == 0
//   collectives        held out: every other message size; one rank count as a whole where asked for
//   served_*           held out: tp > 2
//   all else           train
//
// "Every other": the odd ones, counted from 0, of the sorted distinct values of the row's table; a table is
// the rows of one gpu, operation, variant, dtype, version and (of collectives) node count and fabric.
// An interior head configuration has fewer heads than some and more than other configurations of its table
// with its head_dim, and fewer kv_heads than some and more than other ones with its heads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/sample.hpp"

namespace rollcast {

enum class SampleSplit {
  train,
  heldout,        // a whole shape, every other context, length or message size, or tp > 2
  heldout_heads,  // attention: the head configuration is held out, the context or length is not
  heldout_both,   // attention: both are
  heldout_ranks,  // collectives of the rank count that was asked to be held out, all sizes
};
std::string_view name_of(SampleSplit s);

// FNV-1a, 64 bit.
std::uint64_t hash_of(std::string_view text);

// "gemm|4096|1024"; empty for an operation that is not split by its shape.
std::string shape_key(Sample const& s);

// hash_of(key) % 5 == 0, false for an empty key.
bool holds_out(std::string_view key);

struct SplitOptions {
  int held_ranks = 0;  // collectives on one node with so many ranks are held out; 0: none
};

// One entry per sample.
std::vector<SampleSplit> split_of(std::vector<Sample> const& samples, SplitOptions const& options = {});

// The samples that a fit may see.
std::vector<Sample> train_samples(std::vector<Sample> const& samples, SplitOptions const& options = {});

}  // namespace rollcast
