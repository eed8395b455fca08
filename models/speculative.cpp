#include "models/speculative.hpp"

#include <algorithm>

namespace rollcast {

double expected_tokens(std::optional<Speculation> const& s) {
  double sum = 1;
  if (!s) return sum;
  double chance = 1;
  for (int i = 0; i < s->draft_tokens; ++i) {
    chance *= s->acceptance;
    sum += chance;
  }
  return sum;
}

Seconds draft_layer_time(EngineProducts const& products, Profile const& p, Architecture const& a,
                         EngineOptions const& e, CollectivePrices& collectives, double tokens) {
  if (draft_tokens(e) == 0) return Seconds(0);
  double const own = std::max(1.0, tokens / products.layout.groups);
  return layer_time(products.layers.back(), products.layout, p, a, e, collectives, tokens) +
         gemm_time(p, own, a.hidden, 2.0 * a.hidden, e.weights);
}

Seconds speculative_dense_time(EngineProducts const& products, Profile const& p, Architecture const& a,
                               EngineOptions const& e, CollectivePrices& collectives, double tokens) {
  int const drafts = draft_tokens(e);
  if (drafts == 0) return dense_time(products, p, a, e, collectives, tokens);
  double const most = std::max(1, e.max_num_seqs);
  double const decoding = std::min(tokens, most);
  Seconds const draft = draft_layer_time(products, p, a, e, collectives, decoding);
  Seconds time = dense_time(products, p, a, e, collectives, (1.0 + drafts) * decoding);
  time += (draft + head_time(products, p, e, decoding)) * drafts;
  time /= expected_tokens(e.speculative);
  if (tokens <= most) return time;
  time +=
      dense_time(products, p, a, e, collectives, tokens) - dense_time(products, p, a, e, collectives, most);
  return time + (draft_layer_time(products, p, a, e, collectives, tokens) - draft);
}

Seconds speculative_decode_time(std::vector<LayerAttention> const& layers, Profile const& p,
                                Architecture const& a, EngineOptions const& e, double batch, double context) {
  int const drafts = draft_tokens(e);
  Seconds time = decode_time(layers, p, a, e, batch, context, 1.0 + drafts);
  if (drafts == 0) return time;
  LayerAttention one = layers.back();
  one.count = 1;
  time += decode_time({one}, p, a, e, batch, context) * drafts;
  return time / expected_tokens(e.speculative);
}

}  // namespace rollcast
