// Random engines, prices and requests for property tests.
#pragma once

#include <cstdint>
#include <vector>

#include "models/random.hpp"
#include "models/rollout_engine.hpp"

namespace rollcast {

struct Draw {
  std::uint64_t seed;
  std::uint64_t drawn = 0;
  double real() { return uniform({seed, Purpose::jitter, 0, drawn++}); }
  int whole(int low, int high) { return low + static_cast<int>(real() * (high - low + 1)); }
  bool often(double part) { return real() < part; }
};

inline StepPrices random_prices(Draw& d) {
  StepPrices p;
  p.fixed = seconds(0.5 + d.real());
  p.per_sequence = seconds(0.02 * d.real());
  bool const table = d.often(0.7);
  auto const knots = [&](int most) {
    std::vector<double> x{d.often(0.5) ? 1.0 : d.real()};
    for (int n = d.whole(table ? 0 : 1, table ? most : 1); n > 0; --n)
      x.push_back(x.back() + 0.2 + 20 * d.real());
    return x;
  };
  // Rising values from a first knot of at most 1: no step takes negative time, wherever a line goes on.
  auto const rising = [&](std::size_t n, double step) {
    std::vector<double> y{step * d.real()};
    while (y.size() < n) y.push_back(y.back() + step * d.real());
    return y;
  };
  p.dense.x = knots(6);
  p.dense.y = rising(p.dense.x.size(), 0.05);
  p.batch_knots = knots(4);
  p.context_knots = knots(8);
  std::vector<double> const by_context = rising(p.context_knots.size(), 0.05);
  std::vector<double> const by_batch = rising(p.batch_knots.size(), 1.0);
  for (double b : by_batch) {
    p.decode_attention.emplace_back();
    for (double c : by_context) p.decode_attention.back().push_back(b * c);
  }
  p.prefill = {{0, 1}, {0, 1e-4 * d.real()}};
  p.chunk_read = 1e-3 * d.real();
  return p;
}

struct RandomWorkload {
  EngineOptions options;
  std::int64_t kv_blocks = 0;
  StepPrices prices;
  std::vector<int> group_prompts;
  int longest_response = 0;
  int requests = 0;
};

inline RandomWorkload random_workload(Draw& d) {
  RandomWorkload w;
  w.options.block_size = d.whole(1, 8);
  w.options.max_num_seqs = d.whole(1, 14);
  w.options.chunked_prefill = d.often(0.7);
  if (d.often(0.3)) w.options.version = "0.6.5";
  w.options.prefix_caching = d.often(0.7);
  int const longest_prompt = d.whole(1, 40);
  w.longest_response = d.whole(1, 60);
  int const longest = longest_prompt + w.longest_response - 1;
  w.options.max_num_batched_tokens = w.options.chunked_prefill ? d.whole(1, 60) : longest + d.whole(0, 40);
  int const least = (longest + w.options.block_size - 1) / w.options.block_size;
  w.kv_blocks = least + (d.often(0.5) ? d.whole(0, least) : d.whole(0, 8 * least));
  w.prices = random_prices(d);
  for (int n = d.whole(1, 4); n > 0; --n) w.group_prompts.push_back(d.whole(1, longest_prompt));
  w.requests = d.whole(1, 40);
  return w;
}

inline Request random_request(Draw& d, RandomWorkload const& w, std::int64_t id) {
  int const group = d.whole(0, static_cast<int>(w.group_prompts.size()) - 1);
  int const prompt = w.group_prompts[static_cast<std::size_t>(group)];
  int const response = d.whole(1, w.longest_response);
  return {id, d.often(0.7) ? group : -1, prompt, response, d.often(0.2) ? d.whole(0, response - 1) : 0};
}

}  // namespace rollcast
