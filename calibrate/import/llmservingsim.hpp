// Layer tables of LLMServingSim: <gpu>/<model>/<tp>/layers.csv with layer_name, input (tokens), kv_cache,
// tp_size, latency(ns). The model is the folder that names one of the catalog.
//
// Projections become gemm; norms, rope, act_fn and embedding memory_pass (width as in vidur.hpp); attn
// attention_prefill of one sequence of `input` tokens after kv_cache cached ones. Where
// all parts of a layer were timed without cached tokens, also layer_gemm and layer. Products are
// sustained: no short bursts at locked clocks.
#pragma once

#include <string>
#include <vector>

#include "calibrate/import/imported.hpp"

namespace rollcast {

bool is_llmservingsim(std::vector<std::string> const& columns);
void read_llmservingsim(SourceText const& source, Imported& out);

}  // namespace rollcast
