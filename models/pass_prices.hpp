// Memory-bound passes of a layer, each fitted to measured kernels of its own, and their device times.
//
// One block of threads works on one token, so that a pass of few tokens takes as long as one token does, and
// one of many as long as the memory does:
//   latency   = latency + latency_per_element x width
//   flow      = tokens x per_token + bytes / bandwidth x per_byte
//               + max(0, bytes - L2 / 2) / bandwidth x beyond_cache
//   time      = sqrt(latency^2 + flow^2)
// bytes = tokens x width x bytes_per_element; half of the L2, as what is read and what is written share it.
// Time never falls in tokens or width. Another GPU than the measured one gets the same law with its own
// bandwidth and L2. These are times on the device: launches outside a CUDA graph are the caller's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware.hpp"

namespace rollcast {

enum class ElementwisePass { norm, rope, activation, add, embedding, log_softmax, adam };
std::string_view name_of(ElementwisePass kind);
std::optional<ElementwisePass> pass_kind_of(std::string_view name);

// What a pass must read and write per element of its width, 2 B an element: norm, rope and embedding one
// read and one write; activation (gated) and add two reads; log_softmax one read; adam 28 B (fp32 weight and
// both moments read and written, bf16 gradient and weight).
double bytes_per_element(ElementwisePass kind);

struct PassLaw {
  ElementwisePass kind = ElementwisePass::norm;
  Seconds latency;
  Seconds latency_per_element;
  Seconds per_token;
  double per_byte = 1;  // of bytes / bandwidth; below 1 where the cache feeds the pass
  double beyond_cache = 0;
};

Seconds pass_time(PassLaw const& law, Gpu const& gpu, double tokens, double width);

struct PassTable {
  std::vector<PassLaw> laws;  // at most one of a kind
};

// nullopt: there is no law of this kind. 0 for no tokens.
std::optional<Seconds> pass_time(PassTable const& t, Gpu const& gpu, ElementwisePass kind, double tokens,
                                 double width);

// One kernel that does several passes over the same tokens and width in turn (residual add, then norm): the
// longest latency, the sum of the flows less the share of their bytes that is not read again (2 B an element
// for each pass but the first). Derived: no fused kernel was measured. nullopt unless every kind has a law.
std::optional<Seconds> fused_time(PassTable const& t, Gpu const& gpu,
                                  std::vector<ElementwisePass> const& kinds, double tokens, double width);

// A line "kind latency latency_per_element per_token per_byte beyond_cache" for each law, in seconds.
std::string to_text(PassTable const& t);
Parsed<PassTable> pass_table_from(std::string_view text);

}  // namespace rollcast
